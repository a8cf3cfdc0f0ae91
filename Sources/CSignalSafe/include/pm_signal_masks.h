// The signals that the target CSignalMasks leaves unblocked. No thread's mask is remembered: what the kernel blocks is
// what the program reads, and the masks below are recognized in the kernel's. See Docs/Decisions/10-signal-masks.md.
#ifndef PM_SIGNAL_MASKS_H
#define PM_SIGNAL_MASKS_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_annotations.h"
#include "pm_control.h"
#include "pm_system_calls.h"

PM_BEGIN_C

// Sets of signals; bit n - 1 stands for signal n.
#define PM_SET(signal) (UINT64_C(1) << ((signal) - 1))
#define PM_ABORT PM_SET(SIGABRT)
// SIGKILL and SIGSTOP, which the kernel never blocks, and 32 and 33, which libc does not let programs block.
#define PM_NEVER_BLOCKED (PM_SET(9) | PM_SET(19) | PM_SET(32) | PM_SET(33))
// The mask that the worker threads of libdispatch, and so of Swift concurrency, ask for. Source: libdispatch
// src/init.c, _dispatch_sigmask.
#define PM_WORKER_MASK                                                                                           \
  (~(PM_NEVER_BLOCKED | PM_SET(SIGILL) | PM_SET(SIGTRAP) | PM_SET(SIGFPE) | PM_SET(SIGBUS) | PM_SET(SIGSEGV) | \
     PM_SET(SIGSYS) | PM_SET(SIGPIPE) | PM_SET(SIGPROF)))
// The mask that they have instead while SIGABRT is kept open.
#define PM_OPEN_WORKER_MASK (PM_WORKER_MASK & ~PM_ABORT)
// SIGSTKFLT, which nothing sends. It is unblocked in a worker thread that has itself unblocked SIGABRT, so that its mask
// is not PM_OPEN_WORKER_MASK.
#define PM_OPEN_MARK PM_SET(16)
// Signal 32. It is blocked in a thread that called abort while it blocked SIGABRT.
#define PM_ABORTS_BLOCKED PM_SET(32)

// The signals that are kept unblocked: those of faults for which the program had no handler at the start, and SIGABRT if
// libc's abort does not unblock it itself. 0 until startHandler has set them; while the value is 0, this package changes
// no mask.
extern _Atomic(uint64_t) pm_kept_open_storage __attribute__((visibility("hidden")));
// 1 if the program contains the target CSignalMasks.
extern int pm_replaces_masks_storage __attribute__((visibility("hidden")));

PM_INLINE uint64_t pm_kept_open(void) { return __c11_atomic_load(&pm_kept_open_storage, __ATOMIC_SEQ_CST); }

// Returns whether a signal has this package's handler. If the program has installed its own handler, the signal is
// blocked as the program asks, so that this handler runs only when it would run without this package.
PM_INLINE bool pm_has_crash_handler(int signal) {
  struct pm_signal_action action;
  return pm_sigaction(signal, NULL, &action) == 0 && action.handler == (uint64_t)pm_enter_crash;
}

// Returns whether SIGABRT is kept unblocked and has this package's handler.
PM_INLINE bool pm_takes_abort(void) { return pm_kept_open() & PM_ABORT && pm_has_crash_handler(SIGABRT); }

// Returns the mask of a thread that blocked `mask` before the handler was started, from then on.
PM_INLINE uint64_t pm_opened_mask(uint64_t mask) {
  uint64_t kept = pm_kept_open(), opened = mask & ~(kept & ~PM_ABORT);
  return kept & PM_ABORT && opened == PM_WORKER_MASK ? PM_OPEN_WORKER_MASK : opened;
}

PM_INLINE uint64_t pm_worker_mask(void) { return PM_WORKER_MASK; }

// Returns whether SIGABRT is unblocked only because of `pm_opened_mask` or the target CSignalMasks.
PM_INLINE bool pm_is_open_worker(uint64_t mask) { return pm_kept_open() & PM_ABORT && mask == PM_OPEN_WORKER_MASK; }

// Returns whether the thread blocked SIGABRT when it called abort.
PM_INLINE bool pm_aborts_blocked(uint64_t mask) { return pm_kept_open() & PM_ABORT && mask & PM_ABORTS_BLOCKED; }

PM_END_C

#endif
