// Defines pthread_sigmask and sigprocmask in the program; the dynamic linker finds these definitions before libc's.
// They keep crash signals unblocked in the kernel, because a fault whose signal is blocked ends the process without
// running a handler. The program still reads back the mask that it has set. See Docs/Decisions/10-signal-masks.md.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "CSignalMasks.h"
#include "CSignalSafe.h"

// The sanitizers' definition of pthread_sigmask, which checks the arguments; NULL in a program without a sanitizer.
extern int __interceptor_pthread_sigmask(int, const sigset_t *, sigset_t *) __attribute__((weak));

// Signals 32 and 33, which libc does not let programs block, and the signals that the kernel never blocks.
#define LIBC_SIGNALS (3ull << 31)
#define NEVER_BLOCKED (LIBC_SIGNALS | 1ull << (SIGKILL - 1) | 1ull << (SIGSTOP - 1))

#define ABORT (1ull << (SIGABRT - 1))

// The TLS model is initial-exec, because __tls_get_addr may allocate memory, and programs call pthread_sigmask in
// signal handlers.
static _Thread_local struct pm_thread_mask own_mask __attribute__((tls_model("initial-exec")));
// The process ID of a vfork child that has set its own mask; such a child runs in its parent's memory.
static _Thread_local int32_t own_copy __attribute__((tls_model("initial-exec")));

// Does what libc's pthread_sigmask does. With an invalid `set`, this function faults, because it reads `set` itself;
// with an invalid `old`, the kernel returns EFAULT.
static int ask_kernel(int how, const sigset_t *set, sigset_t *old) {
  if (__interceptor_pthread_sigmask) return __interceptor_pthread_sigmask(how, set, old);
  uint64_t signals;
  const uint64_t *asked = (const uint64_t *)set;
  if (set && *asked & LIBC_SIGNALS) {
    signals = *asked & ~LIBC_SIGNALS;
    asked = &signals;
  }
  return (int)-pm_sigprocmask(how, asked, (uint64_t *)old);
}

static uint64_t exchange(int how, uint64_t signals) {
  uint64_t before = 0;
  pm_sigprocmask(how, &signals, &before);
  return before;
}

static int is_copy(void) { return pm_getpid() != pm_masks_process(); }

static uint64_t asked_mask(uint64_t kernel) {
  return own_copy != 0 && own_copy == pm_getpid() ? kernel : pm_asked_mask(own_mask, kernel);
}

int pm_takes_abort(void) {
  struct pm_signal_action action;
  return pm_kept_open() & ABORT && pm_sigaction(SIGABRT, NULL, &action) == 0 && action.handler == (uint64_t)pm_enter_crash;
}

static uint64_t kept_open(uint64_t asked) {
  uint64_t kept = pm_kept_open() & asked;
  return kept & ABORT && !pm_takes_abort() ? kept & ~ABORT : kept;
}

// Sets the mask, first in `own_mask` and then in the kernel. A vfork child sets only the kernel's mask, because
// `own_mask` belongs to its parent. The caller has blocked all signals except the crash signals other than SIGABRT, so
// only one of these can interrupt this function between the two steps.
static void set_mask(uint64_t asked) {
  if (is_copy()) {
    own_copy = (int32_t)pm_getpid();
    exchange(SIG_SETMASK, asked);
    return;
  }
  own_mask.opened = kept_open(asked);
  own_mask.kernel = asked & ~own_mask.opened;
  exchange(SIG_SETMASK, own_mask.kernel);
}

static int change_mask(int how, const sigset_t *set, sigset_t *old) {
  if (pm_kept_open() == 0) return ask_kernel(how, set, old);
  uint64_t changed = 0;
  if (set) {
    // This call only makes the sanitizer check `set`; it changes nothing, because the operation -1 is invalid.
    if (__interceptor_pthread_sigmask) __interceptor_pthread_sigmask(-1, set, NULL);
    if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) return EINVAL;
    changed = *(const uint64_t *)set & ~NEVER_BLOCKED;
  }
  int error = old ? ask_kernel(SIG_BLOCK, NULL, old) : 0;
  if (error != 0) return error;
  if (!set) {
    if (old) *(uint64_t *)old = asked_mask(*(uint64_t *)old);
    return 0;
  }
  uint64_t before = asked_mask(exchange(SIG_BLOCK, ~pm_kept_open() | ABORT));
  set_mask(how == SIG_BLOCK ? before | changed : how == SIG_UNBLOCK ? before & ~changed : changed);
  if (old) *(uint64_t *)old = before;
  return 0;
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

uint64_t pm_block_as_asked(void) {
  uint64_t kernel = 0;
  if (own_mask.opened == 0 || pm_sigprocmask(SIG_BLOCK, NULL, &kernel) != 0) return 0;
  uint64_t opened = asked_mask(kernel) & ~kernel;
  if (opened != 0) exchange(SIG_BLOCK, opened);
  return opened;
}

void pm_open_again(uint64_t signals) {
  if (signals != 0) exchange(SIG_UNBLOCK, signals);
}

static void adopt_mask(void) {
  uint64_t kernel = 0;
  if (pm_sigprocmask(SIG_BLOCK, NULL, &kernel) != 0 || (kernel & pm_kept_open()) == 0 || is_copy()) return;
  exchange(SIG_BLOCK, ~pm_kept_open() | ABORT);
  set_mask(asked_mask(kernel));
}

// Makes a forked child keep the same signals unblocked as its parent. Runs in the child, before fork returns there.
static void follow_fork(void) {
  if (pm_kept_open() != 0) pm_keep_open(pm_kept_open(), (int32_t)pm_getpid());
}

__attribute__((constructor)) static void announce(void) {
  // If there is no memory to register the function, forked children set their masks as requested, with no signal kept
  // unblocked.
  pthread_atfork(NULL, NULL, follow_fork);
  pm_thread_mask_offset_storage = (int64_t)((uint64_t)&own_mask - (uint64_t)__builtin_thread_pointer());
  pm_adopt_mask_storage = adopt_mask;
}
