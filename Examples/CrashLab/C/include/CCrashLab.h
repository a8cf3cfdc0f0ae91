// Crashes that Swift cannot express, and some values that its optimizer must not know. A report of
// each kind must name its crash_ function.
#ifndef CCRASHLAB_H
#define CCRASHLAB_H

#include <stdbool.h>
#include <stddef.h>

#include "Privileges.h"
#include <stdint.h>

#include "Conditions.h"

#ifdef __cplusplus
extern "C" {
#endif

// Returns an address that no compiler can reason about: with a constant, it could prove the access
// invalid and remove it.
void *_Nonnull crashlab_address(uintptr_t value);

// Sets the name of the calling thread; the kernel keeps 15 bytes.
void crashlab_name_thread(const char *_Nonnull name);

// Calls the body with a text in a buffer on the stack, six words in registers that calls preserve,
// and 16 bytes in vector registers.
void crashlab_plant(
    void (*_Nonnull body)(void *_Nullable), void *_Nullable context, const char *_Nonnull text,
    const uint64_t *_Nonnull words, const char *_Nonnull vector);

// Prints the address of an object, its former metadata, and the four words that are there now.
// Allocates nothing, so that memory that was just freed stays free.
void crashlab_print_words(const char *_Nonnull name, const void *_Nonnull object, uint64_t metadata);

// Calls an address that has no code.
void crash_null_call(void);
void crash_execute_data(void);

// Only on x86_64: on arm64 the result of the division is 0, and the access is allowed.
void crash_divide_by_zero(void);
void crash_misaligned(void);

void crash_illegal_instruction(void);
void crash_builtin_trap(void);
void crash_breakpoint(void);

void crash_assert(void);
void crash_double_free(void);
void crash_stack_smash(void);

void crash_cxx_exception(void);
void crash_cxx_noexcept(void);

// Starts two threads whose static variables need each other, and returns once they wait.
void crashlab_cross_statics(void);

// Lets the calling thread wait forever in fsync; returns a negative number if the kernel refuses it.
int crashlab_stop_disk(void);

// Forks a child that is the first process of a PID namespace, and ends with its parent; returns -1 if the kernel
// refuses it.
int crashlab_fork_into_namespace(void);
void crash_pure_virtual(void);

// Programs of the truth table, see truth.c and cxx.cpp.
void crashlab_set_callback(void (*_Nonnull function)(void *_Nullable), void *_Nullable context);
void crashlab_run_callback(void);
void crash_cache_entry(uintptr_t type);
void crash_copy_name(bool is_short);
void crash_write_register(void);
long crashlab_far_index(void);
void crash_read_table(long index);
void crash_read_table_at(uintptr_t address);
void crash_import_in_background(void);
// Installs a handler of SIGSEGV that passes the signal on in one of several ways.
void crashlab_handle_first(const char *_Nonnull way, bool alternate);
void crash_serve_request(void);
void crash_reload_in_handler(void);
// Calls the body on a new thread, and waits for its end.
void crashlab_on_loop(void (*_Nonnull body)(void));
// Mutexes with priority inheritance: two threads take them in opposite order, or one thread takes one twice.
void crashlab_take_inheriting(int index);
void crashlab_cross_inheriting(void);
void crashlab_take_inheriting_twice(void);
// Forks a child that is stopped by a signal, and ends when its parent does; returns its process ID.
int crashlab_fork_stopped(void);

void crash_huge_frame(void);
void crash_alloca(void);
void crash_full_stack_signal(void);

// fork(2), which Swift does not import.
int crashlab_fork(void);

// Forks a child that ends when its parent does; returns its process ID.
int crashlab_fork_idle(void);

// Makes process_vm_readv fail with ENOSYS from now on; returns 0 on success.
int crashlab_deny_memory_copies(void);

// Makes a forked child send the signal to this process.
void crash_sent(int signal);

// Gets SIGTERM from another process, and exits. If `heeds` is 0, ignores SIGTERM, and gets SIGKILL
// after the grace period of a supervisor.
void end_terminated(int heeds);

// Scenes with the program's own handlers, see chain.c. crashlab_prepare_scene runs the part before
// our handler starts, and returns false for an unknown name; crashlab_run_scene runs the rest.
bool crashlab_prepare_scene(const char *_Nonnull name);
void crashlab_run_scene(const char *_Nonnull name);

// Reads an unmapped page inside a restartable sequence, whose abort handler returns, and after one.
void crash_in_sequence(void);
void crash_after_sequence(void);

// True if the calling thread is registered with the kernel for restartable sequences.
bool crashlab_has_sequences(void);

// Scenes of programs that use signals, threads and processes as they may, see uses/uses.h.
// crashlab_prepare_use runs the part before our handler starts, and returns false for an unknown
// name; crashlab_run_use runs the rest.
bool crashlab_prepare_use(const char *_Nonnull name);
void crashlab_run_use(const char *_Nonnull name);
void crashlab_list_uses(void);
// Sets the function with which a scene takes a dump of the living process; without one, it takes none.
void crashlab_set_dump(void (*_Nonnull dump)(bool stops_threads));
// Prints what the functions do that this package defines in front of libc's ("own"), or libc's ("libc"); see
// functions/functions.h. Returns false for another word.
bool crashlab_compare_functions(const char *_Nonnull whose);
// For scenes in Swift: block a signal in the calling thread, wait for it there, have another process
// send it, and print the calling thread's mask, without the signals of faults and SIGABRT, and the
// pending signals.
void crashlab_block(int signal);
int crashlab_wait_for(int signal);
void crashlab_send(int signal);
bool crashlab_is_pending(int signal);
void crashlab_tell(const char *_Nonnull name);

// Block signals in the calling thread: every signal, or one signal by a direct system call.
void crashlab_block_all(void);
void crashlab_block_by_kernel(int signal);
// Installs a handler for a signal that blocks another signal while it runs.
void crashlab_handle_blocking(int signal, int blocked);

// Returns a first-chance handler that unlocks the page of a fault.
bool (*_Nonnull crashlab_first_chance(void))(int, void *_Nullable, void *_Nullable);

// A Java virtual machine in this process, see java.c. crashlab_make_java_machine creates it from
// libjvm.so and a directory with the class Play; crashlab_run_java makes that class run a scene on
// the calling thread. The first-chance handler passes faults to the machine, and counts those that
// it handles.
void crashlab_make_java_machine(const char *_Nonnull library, const char *_Nonnull directory);
void crashlab_run_java(const char *_Nonnull scene);
bool (*_Nonnull crashlab_java_first_chance(void))(int, void *_Nullable, void *_Nullable);
int crashlab_java_faults(void);

// `crashlab_take_signal` replaces the handler of a signal; `crashlab_is_caught` returns whether the
// signal has a handler.
void crashlab_take_signal(int signal);
bool crashlab_is_caught(int signal);

// Installs a seccomp filter on the calling thread that raises SIGSYS for acct(2), then calls
// acct(2).
void crash_seccomp(void);

// Joins a new cgroup with a limit of 64 MiB and allocates more; returns if no group can be created.
void crash_out_of_memory(void);

// Maps memory whose pages a thread of this process provides on demand; see served_memory.c. Exits with 99 if the kernel
// does not allow this.
enum {
  CRASHLAB_MISSING_PAGES,
  CRASHLAB_MINOR_FAULTS,
  // For a server that does not answer: the crashing thread itself, or a thread that waits for it.
  CRASHLAB_UNSERVED_PAGES,
  CRASHLAB_FILE,
  CRASHLAB_DETACHED_FILE,
  CRASHLAB_FILE_ON_DEVICE,
};
void *_Nonnull crashlab_served_memory(int server, size_t size);

// Crashes by a null write with two addresses in registers.
void crash_with_registers(const void *_Nonnull first, const void *_Nonnull second);

// Calls the body on a new thread with this stack, from a frame whose pages are mostly untouched.
void crashlab_call_on_stack(
    void *_Nonnull stack, size_t size, void (*_Nonnull body)(void *_Nullable), void *_Nullable argument);

// Memory limits for this process only, and the threads that can be created under them; see
// thread_limits.c.
void crashlab_limit_address_space(size_t bytes);
void crashlab_limit_data(size_t bytes);
void crashlab_lock_memory(size_t bytes);
void crashlab_unlimit(void);
int crashlab_make_threads(int most, size_t stack_size);
// The number of malloc's arenas, including the first.
int crashlab_count_arenas(void);

// crashlab_enter_memory_cgroup puts the process into a new memory cgroup with 1 GiB, which is
// removed when the process ends; crashlab_leave_memory then reduces the free memory to `bytes`.
void crashlab_enter_memory_cgroup(void);
void crashlab_leave_memory(size_t bytes);

// Runs a program from a file system that a separate process serves; crashlab_end_server, called in
// the program, ends that process. After that, no page of the program can be read.
int crashlab_run_served(const char *_Nonnull program, char *_Nullable const *_Nonnull arguments);
void crashlab_end_server(void);

#ifdef __cplusplus
}
#endif

#endif
