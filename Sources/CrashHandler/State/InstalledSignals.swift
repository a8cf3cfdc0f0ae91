internal import CSignalSafe

/// The signals for which the handler is installed, and the signals that it uses itself, for example to stop threads.
///
/// In a set of signals, bit n - 1 stands for signal n.
///
/// RUNS-DURING-CRASH.
@safe
struct InstalledSignals {
  /// The crash signals for which this package has installed its handler.
  let crashes: UInt64
  /// The signals that stay unblocked in a first-chance handler.
  ///
  /// The set consists of the signals of faults, the stop signals and the watchdog's signal. The crash handler
  /// begins with only `faults` unblocked.
  let open: UInt64
  /// The signals of faults, which must reach a crashed thread even while it waits or ends the process.
  ///
  /// Stop signals are not included, because a small alternate stack, on which the crash handler runs, may have no room
  /// for the frame of another signal.
  let faults: UInt64
  /// The signals of faults except SIGSYS, and the watchdog's signal.
  let faultsAndWatchdog: UInt64
  /// The real-time signal that stops threads; 0 if every candidate was in use (`CrashSignals.stopSignal`).
  let stop: Int32
  /// The watchdog's signal, which a timer sends every 10 ms during a dump; 0 if there is none.
  let watchdog: Int32
  /// The action of the stop signal and, in a dump that stops threads with SIGPROF or SIGSETXID, also of these signals.
  let stopAction: pm_signal_action
  /// The action of the crash handler for all signals except SIGSYS.
  var crashAction = pm_signal_action()
  /// The action of the watchdog's signal.
  var watchdogAction = pm_signal_action()
  /// The maximum number of stack bytes that the kernel uses to call a signal handler.
  let frameSize: UInt64

  /// True if a signal still has the handler of an action, or if the kernel does not show its handler.
  ///
  /// A signal that the program has taken must not be sent to it.
  @_noLocks
  func isOurs(_ signal: Int32, _ action: pm_signal_action) -> Bool {
    guard let present = SignalAction.current(signal) else { return true }
    return present.handler == action.handler
  }

  /// The action of the crash handler for one signal.
  ///
  /// The handler's own system calls may raise SIGSYS after the handler has left the alternate stack. If the SIGSYS
  /// handler used the alternate stack, the kernel would put the new frame at the top of that stack, over the crash's
  /// frame. The SIGSYS handler blocks all signals, for the following reason. Under syscall user dispatch,
  /// `pm_leave_dispatched` runs a faulting instruction again, and the kernel ends the process because the fault's
  /// signal is blocked.
  @_noLocks
  func crashAction(of signal: Int32) -> pm_signal_action {
    var action = crashAction
    if signal == SIGSYS {
      action.flags &= ~UInt64(truncatingIfNeeded: SA_ONSTACK | SA_NODEFER)
      action.mask = .max
    }
    return action
  }
}
