internal import CSignalSafe

/// The signals that the handler has, and those that it needs; bit n - 1 stands for signal n.
///
/// RUNS-DURING-CRASH.
@safe
struct InstalledSignals {
  /// Those of crashes whose handler is ours.
  let crashes: UInt64
  /// Those that must reach a thread of the handler's or one that takes a dump: faults, the stop
  /// signals, the watchdog's.
  let open: UInt64
  /// The real-time signal that stops threads; 0 if every one was taken.
  let stop: Int32
  /// The signal that says that the time is over; 0 if there is none.
  let watchdog: Int32
  /// The action of a stop signal, SIGPROF and SIGSETXID in a crash included.
  let stopAction: pm_signal_action
  /// The action of our handler, for all signals but SIGSYS.
  var crashAction = pm_signal_action()
  /// The most bytes that the kernel needs to call a handler.
  let frameSize: UInt64

  /// The signals that must reach a crashed thread, which waits or ends: faults.
  ///
  /// No stop signal: a small alternate stack has no room for one.
  var faults: UInt64 {
    @_noLocks get {
      open
        & ~(SignalMask.bit(SIGPROF) | SignalMask.bit(SIGSETXID) | SignalMask.bit(stop)
        | SignalMask.bit(watchdog))
    }
  }

  /// The signals that must reach the capturing thread: faults and the watchdog's signal.
  var capture: UInt64 { @_noLocks get { faults | SignalMask.bit(watchdog) } }

  /// The action of our handler for one signal.
  ///
  /// SIGSYS may come of the handler's own calls, from code that has left the alternate stack: the kernel
  /// would begin at its top again, over the frame of the crash. And under syscall user dispatch the
  /// kernel ends the process at a fault whose signal is blocked; see `pm_answer_own_call`.
  @_noLocks
  func crashAction(of signal: Int32) -> pm_signal_action {
    var action = crashAction
    if signal == SIGSYS {
      action.flags &= ~UInt64(truncatingIfNeeded: SA_ONSTACK | SA_NODEFER)
      action.mask = .max
    }
    return action
  }

  /// Installs the stop handler; false if the kernel refuses.
  @_noLocks
  func installStopHandler(_ signal: Int32, previous: inout pm_signal_action) -> Bool {
    var action = stopAction
    return unsafe pm_sigaction(signal, &action, &previous) == 0
  }

}
