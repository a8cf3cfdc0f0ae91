// Defines signalfd in the program. libdispatch makes a signalfd for each signal source on its manager thread, and its
// signal handler sends the signal to this thread. If SIGABRT were unblocked there, the handler would send it again and
// again, so this definition blocks it. See Docs/Decisions/10-signal-masks.md.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "CSignalMasks.h"
#include "CSignalSafe.h"

__attribute__((visibility("default"))) int signalfd(int file, const sigset_t *set, int flags) {
  long result = PM_SYSCALL(SYS_signalfd4, file, set, sizeof(uint64_t), flags, 0, 0);
  if (result < 0) {
    errno = (int)-result;
    return -1;
  }
  uint64_t now = 0, abort = PM_ABORT;
  if (pm_kept_open() & *(const uint64_t *)set & PM_ABORT && pm_sigprocmask(SIG_BLOCK, NULL, &now) == 0 &&
      pm_is_open_worker(now))
    pm_sigprocmask(SIG_BLOCK, &abort, NULL);
  return (int)result;
}
