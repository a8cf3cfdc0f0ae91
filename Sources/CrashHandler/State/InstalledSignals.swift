internal import CSignalSafe

/// The signals that the handler handles, and those that it needs; bit n - 1 stands for signal n.
///
/// RUNS-DURING-CRASH.
@safe
struct InstalledSignals {
  /// The crash signals that this package has installed its handler for.
  let crashes: UInt64
  /// The signals that a thread of the handler, or one that takes a dump, never blocks: faults, the stop signals and
  /// the watchdog's signal.
  let open: UInt64
  /// The real-time signal that stops threads; 0 if every one was taken.
  let stop: Int32
  /// The watchdog's signal, which is sent at each tick of the time limit; 0 if there is none.
  let watchdog: Int32
  /// The action of a stop signal, also for SIGPROF and SIGSETXID in a crash.
  let stopAction: pm_signal_action
  /// The action of the crash handler for all signals except SIGSYS.
  var crashAction = pm_signal_action()
  /// The maximum number of bytes that the kernel needs to call a handler.
  let frameSize: UInt64

  /// The signals that must reach a crashed thread, which waits or ends: faults.
  ///
  /// Stop signals are not among them, because a small alternate stack has no room for one.
  var faults: UInt64 {
    @_noLocks get {
      open
        & ~(SignalMask.bit(SIGPROF) | SignalMask.bit(SIGSETXID) | SignalMask.bit(stop)
        | SignalMask.bit(watchdog))
    }
  }

  /// The signals that must reach the capturing thread: faults and the watchdog's signal.
  var capture: UInt64 { @_noLocks get { faults | SignalMask.bit(watchdog) } }

  /// The action of the crash handler for one signal.
  ///
  /// The handler's own calls may raise SIGSYS after it has left the alternate stack. On that stack the kernel would
  /// put the new frame at the top, over the frame of the crash. All signals are blocked because, under syscall user
  /// dispatch, the process is ended by a fault whose signal is blocked; see `pm_answer_own_call`.
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
