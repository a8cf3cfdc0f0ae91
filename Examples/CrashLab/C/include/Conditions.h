// The circumstances of a crash: locks that the thread holds, the moment, other threads, and
// exhausted resources. A function with a body calls it once, under its condition, and the body
// crashes.
#ifndef CCRASHLAB_CONDITIONS_H
#define CCRASHLAB_CONDITIONS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*crashlab_body)(void *_Nullable context);

// Locks that the crashing thread holds.

// Makes all threads use one arena, so that a thread that holds its lock blocks all others. Call it
// before any other thread runs.
void condition_prepare_malloc(void);
// Calls the body while the thread really holds the lock of malloc's arena: a seccomp filter traps
// the system call with which malloc grows its heap.
void condition_in_malloc(crashlab_body _Nonnull body, void *_Nullable context);
// Installs the same trap, which runs the body when malloc next grows the heap on this thread.
void condition_trap_heap_growth(crashlab_body _Nonnull body, void *_Nullable context);
void condition_holding_loader_lock(crashlab_body _Nonnull body, void *_Nullable context);
void condition_holding_stdio_lock(crashlab_body _Nonnull body, void *_Nullable context);
void condition_holding_mutex(crashlab_body _Nonnull body, void *_Nullable context);

// Moments in a program's life.

void condition_in_atexit(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_signal_handler(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_thread_start(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_thread_end(crashlab_body _Nonnull body, void *_Nullable context);
// Calls the body in a constructor of the module that the environment variable CRASHLAB_MODULE
// names.
void condition_in_constructor(crashlab_body _Nonnull body, void *_Nullable context);
// Calls the body in the resolver of an indirect function, which the loader calls when it links the
// module that CRASHLAB_RESOLVER_MODULE names.
void condition_in_resolver(crashlab_body _Nonnull body, void *_Nullable context);
// Calls the body in the destructor of a static C++ object.
void condition_in_static_destructor(crashlab_body _Nonnull body, void *_Nullable context);
// After this call, the body runs in the next function that waits for the disk on this thread.
void condition_trap_syncs(crashlab_body _Nonnull body, void *_Nullable context);

// Threads other than the crashing one.

void condition_at_once(crashlab_body _Nonnull body, void *_Nullable context);
void condition_second_crash(crashlab_body _Nonnull body, void *_Nullable context);
void condition_deaf_threads(void);
void condition_starved_thread(void);
void condition_vfork_parent(void);
void condition_traced_thread(void);
void condition_thread_churn(void);
void condition_spinning_threads(void);
// A thread that no signal can stop replaces every descriptor that it did not open with the file
// "program-file" in the working directory: all the time, or once when the dump starts to grow.
void condition_stealing_thread(void);
void condition_theft(const char *_Nullable database);
// Makes the register that points to the thread control block invalid: on the crashing thread, or on
// another one.
void condition_with_bad_thread_base(crashlab_body _Nonnull body, void *_Nullable context);
void condition_bad_thread_base_beside(void);
// Starts a thread that blocks every signal and calls exit(3) once the dump has its first bytes;
// does nothing without a database.
void condition_exiting_thread(const char *_Nullable database);

// 64 threads crash at once, each with an alternate stack of `size` bytes; the second function
// crashes in a handler on that stack.
void condition_on_small_stacks(crashlab_body _Nonnull body, void *_Nullable context, unsigned size);
void condition_in_handler_on_small_stacks(crashlab_body _Nonnull body, void *_Nullable context, unsigned size);

// Threads whose stacks have no room for a signal frame: with alternate stacks of 2,048 and 3,000
// bytes, with one that was unmapped, in a handler on 8,192 bytes, and at the end of their own
// stacks. Two of them run. CRASHLAB_CRAMPED selects one of them by name.
void condition_cramped_threads(void);
// Gives the calling thread an alternate stack of 2,048 bytes ("2k"), makes it run on that stack
// forever ("on-2k"), or makes it run in a handler on one of 8,192 bytes ("handler").
void condition_cramp_caller(const char *_Nonnull kind);
// False if bytes below the stack of 3,000 bytes were overwritten.
bool condition_is_small_stack_intact(void);

// Modules and mappings. CRASHLAB_MODULE is the path of a module, CRASHLAB_MODULES a directory with
// 2,000 copies of it.

void condition_many_modules(void);
void condition_many_mappings(void);
void condition_closed_module(void);
void condition_in_deleted_module(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_replaced_module(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_module(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_memfd_module(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_other_namespace(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_copied_module(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_moved_module(crashlab_body _Nonnull body, void *_Nullable context);
void condition_moved_code(void);
void condition_on_guarded_stack(crashlab_body _Nonnull body, void *_Nullable context);

// Exhausted or lost resources. The database's directory is null if no handler runs.

// Hides /proc in a mount namespace of this process, before the handler starts. The program does
// this itself, because Swift reads the program's arguments from /proc.
void condition_no_proc(void);
void condition_no_descriptors(const char *_Nullable database);
void condition_close_range(const char *_Nullable database);
void condition_file_size_zero(const char *_Nullable database);
void condition_full_disk(const char *_Nullable database);
void condition_directory_deleted(const char *_Nullable database);
void condition_directory_read_only(const char *_Nullable database);
void condition_no_working_directory(const char *_Nullable database);
// Makes descriptor 2 a file other than at the start.
void condition_other_standard_error(const char *_Nullable database);
// Sets RLIMIT_SIGPENDING to 0, or to a low number with as many signals pending.
void condition_no_pending_signals(void);
void condition_full_signal_queue(void);

// The first thread calls the first function, and ends once another thread calls the second one.
void condition_prepare_end_of_first_thread(void);
void condition_end_first_thread(void);

// Converters that examine this process while it is alive. The database's directory is null if no
// handler runs.

void condition_converted_elsewhere(const char *_Nullable database);
void condition_converted_in_another_time(const char *_Nullable database);
void condition_taken_for_dead(const char *_Nullable database);

// Conditions with child processes, which write the status of waitpid(2) for each child to standard output.

void condition_in_child(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_child_then_parent(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_grandchild(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_workers(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_vfork_child_then_parent(crashlab_body _Nonnull body, void *_Nullable context);
void condition_after_exec_child(crashlab_body _Nonnull body, void *_Nullable context);
// Call the body in a child of _Fork, of clone(2), and of clone(2) with a new PID namespace, and in
// a handler of pthread_atfork(3), which the function before registers.
void condition_in_bare_fork(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_clone(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_namespace_clone(crashlab_body _Nonnull body, void *_Nullable context);
void condition_prepare_early_atfork(void);
void condition_in_early_atfork(crashlab_body _Nonnull body, void *_Nullable context);
// The program becomes a daemon; the test waits for another process, which is created before the
// handler starts.
void condition_collect_orphans(void);
void condition_in_daemon(crashlab_body _Nonnull body, void *_Nullable context);
void condition_remember_disk(const char *_Nullable database);
void condition_in_daemon_on_full_disk(crashlab_body _Nonnull body, void *_Nullable context);

// Signal handlers of the program; each prints a line when it runs.

void condition_handler_before(void);
void condition_old_style_handler_before(void);
void condition_handler_after(void);
void condition_chaining_handler_after(void);
// A first-chance handler that handles the faults of one page, and such a fault.
bool (*_Nonnull condition_first_chance(void))(int, void *_Nullable, void *_Nullable);
void condition_use_fault(void);

// Signals that arrive while the handler works.

void condition_alarm_storm(void);
void condition_stop_and_continue(void);

#ifdef __cplusplus
}
#endif

#endif
