internal import CSignalSafe

/// Handles SIGABRT in threads that asked to block it, but in which it is unblocked.
///
/// With glibc 2.41 and newer, SIGABRT is unblocked in the worker threads of libdispatch (`PM_OPEN_WORKER_MASK`) and
/// by this package's abort(), because libc's abort() no longer unblocks it before sending it.
///
/// RUNS-DURING-CRASH, on any thread. Source: rt_sigqueueinfo(2).
extension Capture {
  /// Blocks a SIGABRT that was sent to a worker thread of libdispatch, and sends it again; returns true if the signal
  /// was sent.
  ///
  /// The kernel then does what it would do without this handler: it delivers the signal to a thread that does not block
  /// it, or keeps it for `sigwait`, a signalfd or `sigpending`. A SIGABRT that abort() may have raised is not sent
  /// again.
  @_noLocks
  func requeueIfSentToWorker(_ signal: DeliveredSignal) -> Bool {
    let number = signal.number
    guard number == SIGABRT, let information = signal.information, let context = signal.context,
      pm_is_open_worker(context.signalMask), !mayBeAborting(signal)
    else { return false }
    context.signalMask |= SignalMask.bit(number)
    let process = shared.process.id
    if information.code == SI_TKILL {
      return information.queue(number, for: pm_gettid(), of: process)
        || pm_tgkill(process, pm_gettid(), number) == 0
    }
    // The kernel allows a process to queue a signal of another sender only under the ID of the calling thread. The
    // signal is still queued for the whole process. Source: Linux kernel/signal.c, do_rt_sigqueueinfo.
    return unsafe pm_sigqueueinfo(pm_gettid(), number, information.address) == 0
      || pm_kill(process, number) == 0
  }

  /// True if, without this package, the kernel would have taken the default action without running any handler: the
  /// thread had asked to block SIGABRT when abort() was called.
  @_noLocks
  func forcesDefaultAction(_ signal: DeliveredSignal) -> Bool {
    guard signal.number == SIGABRT, let mask = signal.context?.signalMask else { return false }
    return pm_is_open_worker(mask) || pm_aborts_blocked(mask)
  }
}
