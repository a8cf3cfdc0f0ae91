// Defines pthread_sigmask and sigprocmask in the program; the dynamic linker finds these definitions before libc's.
// They leave the signals of faults unblocked, because a fault whose signal is blocked ends the process without running
// a handler. See Docs/Decisions/10-signal-masks.md.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "CSignalMasks.h"
#include "CSignalSafe.h"

// The sanitizers' definition of pthread_sigmask, which checks the arguments; NULL in a program without a sanitizer.
extern int __interceptor_pthread_sigmask(int, const sigset_t *, sigset_t *) __attribute__((weak));

// Signals 32 and 33, which libc does not let programs block.
#define LIBC_SIGNALS (3ull << 31)

// Does what libc's pthread_sigmask does. With an invalid `set`, this function faults, because it reads `set` itself;
// with an invalid `old`, the kernel returns EFAULT.
static int ask_kernel(int how, const uint64_t *set, sigset_t *old) {
  if (__interceptor_pthread_sigmask) {
    sigset_t signals;
    if (set) {
      sigemptyset(&signals);
      *(uint64_t *)&signals = *set;
    }
    return __interceptor_pthread_sigmask(how, set ? &signals : NULL, old);
  }
  uint64_t signals = set ? *set & ~LIBC_SIGNALS : 0;
  return (int)-pm_sigprocmask(how, set ? &signals : NULL, (uint64_t *)old);
}

// Returns those of the signals that have this package's handler.
static uint64_t handled(uint64_t signals) {
  uint64_t result = 0;
  for (int signal = 1; signal < 32; signal++)
    if (signals & PM_SET(signal) && pm_has_crash_handler(signal)) result |= PM_SET(signal);
  return result;
}

// Returns the signals to pass to the kernel if the thread, whose mask is `now`, asks for `asked`.
//
// A signal of a fault that the kernel blocks now, as in the handler of this signal, stays blocked if the thread asks for
// it: a handler that saves and restores its mask must not change it.
static uint64_t adapted(int how, uint64_t asked, uint64_t now) {
  if (how == SIG_UNBLOCK)
    return asked & PM_ABORT && now == PM_OPEN_WORKER_MASK ? asked | PM_OPEN_MARK : asked;
  if (how == SIG_BLOCK && (asked & ~PM_NEVER_BLOCKED) == PM_WORKER_MASK && (now & ~PM_OPEN_WORKER_MASK) == 0 &&
      pm_takes_abort())
    return PM_OPEN_WORKER_MASK;
  return asked & ~handled(asked & pm_kept_open() & ~PM_ABORT & ~now);
}

static int change_mask(int how, const sigset_t *set, sigset_t *old) {
  uint64_t signals = set ? *(const uint64_t *)set : 0, now = 0;
  if (signals & pm_kept_open() && pm_sigprocmask(SIG_BLOCK, NULL, &now) == 0) signals = adapted(how, signals, now);
  return ask_kernel(how, set ? &signals : NULL, old);
}

__attribute__((visibility("default"))) int pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  return change_mask(how, set, old);
}

__attribute__((visibility("default"))) int sigprocmask(int how, const sigset_t *set, sigset_t *old) {
  int error = change_mask(how, set, old);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

__attribute__((constructor)) static void announce(void) { pm_replaces_masks_storage = 1; }
