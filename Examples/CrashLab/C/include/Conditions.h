// What surrounds a crash: the locks its thread holds, the moment it comes, the threads beside it, what the process has run
// out of. Functions that take a body call it there, once, and it crashes.
#ifndef CCRASHLAB_CONDITIONS_H
#define CCRASHLAB_CONDITIONS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*crashlab_body)(void *_Nullable context);

// Locks that the crashing thread holds.

// One arena for all threads, so that whoever holds its lock holds it against everybody. Before any other thread runs.
void condition_prepare_malloc(void);
// The lock of malloc's arena, really held: a seccomp filter traps the system call by which malloc grows its heap.
void condition_in_malloc(crashlab_body _Nonnull body, void *_Nullable context);
// From here on that trap runs the body, in whatever next makes malloc grow the heap on this thread.
void condition_trap_heap_growth(crashlab_body _Nonnull body, void *_Nullable context);
void condition_holding_loader_lock(crashlab_body _Nonnull body, void *_Nullable context);
void condition_holding_stdio_lock(crashlab_body _Nonnull body, void *_Nullable context);
void condition_holding_mutex(crashlab_body _Nonnull body, void *_Nullable context);

// Moments in a program's life.

void condition_in_atexit(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_signal_handler(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_thread_start(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_thread_end(crashlab_body _Nonnull body, void *_Nullable context);
// In a constructor of the module that the environment's CRASHLAB_MODULE names.
void condition_in_constructor(crashlab_body _Nonnull body, void *_Nullable context);
// In the resolver of an indirect function, which the loader calls when it links the module that
// CRASHLAB_RESOLVER_MODULE names.
void condition_in_resolver(crashlab_body _Nonnull body, void *_Nullable context);
// In the destructor of a static object of C++.
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
// A thread that no signal stops puts a file of the program's, "program-file" in the working directory, in the place of every
// descriptor that it did not open, all the time; or once, when the dump begins to grow.
void condition_stealing_thread(void);
void condition_theft(const char *_Nullable database);
// The register by which code finds its thread's control block points nowhere: on the crashing thread, and on another one.
void condition_with_bad_thread_base(crashlab_body _Nonnull body, void *_Nullable context);
void condition_bad_thread_base_beside(void);
// A thread that blocks every signal and calls exit(3) once the dump has its first bytes; nothing without a database.
void condition_exiting_thread(const char *_Nullable database);

// 64 threads crash together, each on an alternate stack of so many bytes; in the second in a handler on that stack.
void condition_on_small_stacks(crashlab_body _Nonnull body, void *_Nullable context, unsigned size);
void condition_in_handler_on_small_stacks(crashlab_body _Nonnull body, void *_Nullable context, unsigned size);

// Threads on which a signal's frame finds no room: with alternate stacks of 2,048 and 3,000 bytes, one that was unmapped, in a
// handler on 8,192 bytes, and at the end of their own; two of them run. CRASHLAB_CRAMPED names one of them.
void condition_cramped_threads(void);
// Gives the calling thread an alternate stack of 2,048 bytes ("2k"); has it stand on that for ever ("on-2k"), or in a handler on
// one of 8,192 ("handler").
void condition_cramp_caller(const char *_Nonnull kind);
// False if bytes below the stack of 3,000 bytes were overwritten.
bool condition_is_small_stack_intact(void);

// Modules and mappings. CRASHLAB_MODULE is a module's path, CRASHLAB_MODULES a directory of 2,000 copies of it.

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

// What the process has run out of, or lost. The database's directory is null if no handler runs.

// In a mount namespace of this process' own, before the handler starts: Swift reads the program's arguments from /proc.
void condition_no_proc(void);
void condition_no_descriptors(const char *_Nullable database);
void condition_close_range(const char *_Nullable database);
void condition_file_size_zero(const char *_Nullable database);
void condition_full_disk(const char *_Nullable database);
void condition_directory_deleted(const char *_Nullable database);
void condition_directory_read_only(const char *_Nullable database);
void condition_no_working_directory(const char *_Nullable database);
// Descriptor 2 is another file than at the start.
void condition_other_standard_error(const char *_Nullable database);
// RLIMIT_SIGPENDING is 0; it is low, and as many signals wait.
void condition_no_pending_signals(void);
void condition_full_signal_queue(void);

// The first thread, which calls the one, ends once another one calls the other.
void condition_prepare_end_of_first_thread(void);
void condition_end_first_thread(void);

// Converters that judge this process while it lives. The database's directory is null if no handler runs.

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
// In a child of _Fork, of clone(2), of clone(2) with a PID namespace of its own, and in a handler of pthread_atfork(3) that is
// registered by the function before.
void condition_in_bare_fork(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_clone(crashlab_body _Nonnull body, void *_Nullable context);
void condition_in_namespace_clone(crashlab_body _Nonnull body, void *_Nullable context);
void condition_prepare_early_atfork(void);
void condition_in_early_atfork(crashlab_body _Nonnull body, void *_Nullable context);
// The program itself, that has become a daemon; what the test waits for is another process, made before the handler starts.
void condition_collect_orphans(void);
void condition_in_daemon(crashlab_body _Nonnull body, void *_Nullable context);
void condition_remember_disk(const char *_Nullable database);
void condition_in_daemon_on_full_disk(crashlab_body _Nonnull body, void *_Nullable context);

// Handlers of the program's own; each prints a line when it runs.

void condition_handler_before(void);
void condition_old_style_handler_before(void);
void condition_handler_after(void);
void condition_chaining_handler_after(void);
// A first-chance handler that takes one page's faults, and such a fault.
bool (*_Nonnull condition_first_chance(void))(int, void *_Nullable, void *_Nullable);
void condition_use_fault(void);

// Signals that come while the handler works.

void condition_alarm_storm(void);
void condition_stop_and_continue(void);

#ifdef __cplusplus
}
#endif

#endif
