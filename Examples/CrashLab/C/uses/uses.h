// What the scenes of legal uses share. A scene prints what it sees; its output and its end are
// compared with those of the same program without a handler.
#ifndef USES_H
#define USES_H

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

// The signals that an instruction raises.
#define USES_FAULTS                                                                                     \
  (1ull << (SIGILL - 1) | 1ull << (SIGTRAP - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGFPE - 1) |          \
   1ull << (SIGSEGV - 1) | 1ull << (SIGSYS - 1))

struct use {
  const char *name;
  // Runs before the handler starts; may be NULL.
  void (*before)(void);
  void (*run)(void);
};

// The scenes of each family; the last entry has no name.
extern const struct use uses_of_masks[], uses_of_aborts[], uses_of_jumps[], uses_of_contexts[], uses_of_waits[],
    uses_of_requests[], uses_of_notices[], uses_of_timers[], uses_of_programs[], uses_of_stacks[], uses_of_threads[],
    uses_of_limits[], uses_of_dumps[];

// Prints without a buffer, which a forked child would print again.
void use_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

// Returns a set of the given signals, which end with 0.
sigset_t use_set(int first, ...);
uint64_t use_word(const sigset_t *set);
// Returns the calling thread's mask without the signals of faults, which stay unblocked by design.
uint64_t use_mask(void);
void use_block(int first, ...);
void use_block_all(void);
// Prints the mask and the pending signals.
void use_tell(const char *name);

typedef void (*use_handler)(int, siginfo_t *, void *);
void use_handle(int signal, use_handler handler, int flags);

// Makes another process send a signal to this one, and returns its ID after it has ended; the signal
// is then pending, or was received. The second function passes 42 with the signal.
pid_t use_send(int signal);
pid_t use_queue(int signal);

pthread_t use_start(void *(*run)(void *), void *argument);

// Waits for a child, and prints how it ended.
void use_await(pid_t child, const char *name);

// Forks a child that calls the body and then exits with 0, and waits for it.
void use_in_child(const char *name, void (*body)(void));

// Waits until a word is at least a value.
void use_wait_for(volatile int *word, int value);

// Returns a page without any access.
char *use_locked_page(void);
void use_unlock_page(const void *address);

#endif
