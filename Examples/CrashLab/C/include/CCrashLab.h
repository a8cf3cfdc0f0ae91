// The ways to die that Swift cannot say, and the few values that its optimiser must not see through. Each crash_ function
// is the frame that a report of that kind must name.
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

// An address that no compiler can reason about: a plain constant would let it prove the access invalid and drop it.
void *_Nonnull crashlab_address(uintptr_t value);

// Names the calling thread; the kernel keeps 15 bytes.
void crashlab_name_thread(const char *_Nonnull name);

// Calls the body with text in a buffer on the stack, six words in registers that calls preserve, and 16 bytes in vector
// registers.
void crashlab_plant(
    void (*_Nonnull body)(void *_Nullable), void *_Nullable context, const char *_Nonnull text,
    const uint64_t *_Nonnull words, const char *_Nonnull vector);

// Prints the address of an object, the metadata that it had, and the four words that are there now. Allocates nothing, so
// that memory that was just freed stays free.
void crashlab_print_words(const char *_Nonnull name, const void *_Nonnull object, uint64_t metadata);

// Calls code at an address; used to jump to where none is.
void crash_null_call(void);
void crash_execute_data(void);

// x86_64 only: elsewhere the division gives 0 and the access is allowed.
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
void crash_pure_virtual(void);

void crash_huge_frame(void);
void crash_alloca(void);

// fork(2), which Swift does not import.
int crashlab_fork(void);

// Forks a child that ends when its parent does; its process ID.
int crashlab_fork_idle(void);

// From now on process_vm_readv is answered with ENOSYS; 0 if that could be arranged.
int crashlab_deny_memory_copies(void);

// Lets a forked child send the signal to this process.
void crash_sent(int signal);

// Gets SIGTERM from another process, and exits; or does not heed it, and gets SIGKILL after the time that a supervisor grants.
void end_terminated(int heeds);

// Programs that had handlers of their own, see chain.c: what is to be done before our handler starts, false for a name that is
// none, and what follows.
bool crashlab_prepare_scene(const char *_Nonnull name);
void crashlab_run_scene(const char *_Nonnull name);

// Reads a missing page inside a restartable sequence, whose abort handler returns, and after one.
void crash_in_sequence(void);
void crash_after_sequence(void);

// True if the kernel has the calling thread registered for restartable sequences.
bool crashlab_has_sequences(void);

// Programs that block the signals of crashes, see masks.c; false for a name that is none.
bool crashlab_play_masks(const char *_Nonnull name);
// Blocks every signal in the calling thread; one, by a system call of its own.
void crashlab_block_all(void);
void crashlab_block_by_kernel(int signal);
// Installs a handler of a signal that blocks another while it runs.
void crashlab_handle_blocking(int signal, int blocked);

// A first-chance handler that unlocks the page of a fault.
bool (*_Nonnull crashlab_first_chance(void))(int, void *_Nullable, void *_Nullable);

// A Java virtual machine in this process, see java.c: makes it of a libjvm.so and a directory with the class Play, and has that
// play a scene on the calling thread. The first-chance handler asks it, and its faults are counted.
void crashlab_make_java_machine(const char *_Nonnull library, const char *_Nonnull directory);
void crashlab_run_java(const char *_Nonnull scene);
bool (*_Nonnull crashlab_java_first_chance(void))(int, void *_Nullable, void *_Nullable);
int crashlab_java_faults(void);

// `crashlab_take_signal` installs another handler for a signal; `crashlab_is_caught` returns whether the signal has a
// handler.
void crashlab_take_signal(int signal);
bool crashlab_is_caught(int signal);

// Installs a seccomp filter on the calling thread that answers acct(2) with SIGSYS, then calls acct(2).
void crash_seccomp(void);

// Joins a new cgroup of 64 MiB and allocates more; comes back where no group can be made.
void crash_out_of_memory(void);

// Maps memory whose pages a thread of this process provides on demand; see served_memory.c. Exits with 99 if the kernel
// does not allow this.
enum {
  CRASHLAB_MISSING_PAGES,
  CRASHLAB_MINOR_FAULTS,
  // Of a server that does not run: the thread that crashes, or one that waits for it.
  CRASHLAB_UNSERVED_PAGES,
  CRASHLAB_FILE,
  CRASHLAB_DETACHED_FILE,
};
void *_Nonnull crashlab_served_memory(int server, size_t size);

// Crashes by a null write with two addresses in registers.
void crash_with_registers(const void *_Nonnull first, const void *_Nonnull second);

// Calls the body on a new thread with this stack, from a frame most pages of which are never touched.
void crashlab_call_on_stack(
    void *_Nonnull stack, size_t size, void (*_Nonnull body)(void *_Nullable), void *_Nullable argument);

// Limits of memory, for this process alone, and the threads that can be made under them; see thread_limits.c.
void crashlab_limit_address_space(size_t bytes);
void crashlab_limit_data(size_t bytes);
void crashlab_lock_memory(size_t bytes);
void crashlab_unlimit(void);
int crashlab_make_threads(int most, size_t stack_size);
// Those of malloc, the first one's included.
int crashlab_count_arenas(void);

// Puts the process into a memory cgroup of its own, with 1 GiB, which is removed with it; and then leaves it so many bytes.
void crashlab_enter_memory_cgroup(void);
void crashlab_leave_memory(size_t bytes);

// Runs a program from a file system that a process of its own serves; crashlab_end_server ends that in the program, after which
// no page of it can be read any more.
int crashlab_run_served(const char *_Nonnull program, char *_Nullable const *_Nonnull arguments);
void crashlab_end_server(void);

#ifdef __cplusplus
}
#endif

#endif
