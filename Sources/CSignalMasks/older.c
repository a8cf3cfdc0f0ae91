// Defines the older functions that change a thread's signal mask. These definitions call this package's sigprocmask, so
// that crash signals stay unblocked. Replacing sigprocmask is not enough, because the definitions in libc do not call
// the exported sigprocmask. See Docs/Decisions/10-signal-masks.md.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stddef.h>

#include "CSignalMasks.h"

#pragma clang diagnostic ignored "-Wdeprecated-declarations"

// Converts a mask of the first 32 signals, which are the only signals that these functions support. Bit n - 1 stands
// for signal n.
static sigset_t set_of(int mask) {
  sigset_t set;
  sigemptyset(&set);
  for (int signal = 1; signal <= 32; signal++)
    if ((unsigned)mask >> (signal - 1) & 1) sigaddset(&set, signal);
  return set;
}

static int mask_of(const sigset_t *set) {
  unsigned mask = 0;
  for (int signal = 1; signal < 32; signal++)
    if (sigismember(set, signal) == 1) mask |= 1u << (signal - 1);
  return (int)mask;
}

static int change(int how, int mask) {
  sigset_t set = set_of(mask), before;
  sigemptyset(&before);
  return sigprocmask(how, &set, &before) == 0 ? mask_of(&before) : -1;
}

__attribute__((visibility("default"))) int sigblock(int mask) { return change(SIG_BLOCK, mask); }
__attribute__((visibility("default"))) int sigsetmask(int mask) { return change(SIG_SETMASK, mask); }
__attribute__((visibility("default"))) int siggetmask(void) { return change(SIG_BLOCK, 0); }

static int change_one(int how, int signal, sigset_t *before) {
  sigset_t set;
  sigemptyset(&set);
  return sigaddset(&set, signal) == 0 ? sigprocmask(how, &set, before) : -1;
}

__attribute__((visibility("default"))) int sighold(int signal) { return change_one(SIG_BLOCK, signal, NULL); }
__attribute__((visibility("default"))) int sigrelse(int signal) { return change_one(SIG_UNBLOCK, signal, NULL); }

// Source: sigset(3).
__attribute__((visibility("default"))) sighandler_t sigset(int signal, sighandler_t handler) {
  struct sigaction action = {0}, previous;
  sigset_t before;
  if (handler == SIG_ERR) {
    errno = EINVAL;
    return SIG_ERR;
  }
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  int holds = handler == SIG_HOLD;
  if (sigaction(signal, holds ? NULL : &action, &previous) != 0) return SIG_ERR;
  if (change_one(holds ? SIG_BLOCK : SIG_UNBLOCK, signal, &before) != 0) return SIG_ERR;
  return sigismember(&before, signal) == 1 ? SIG_HOLD : previous.sa_handler;
}
