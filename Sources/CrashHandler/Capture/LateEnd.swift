internal import CSignalSafe

/// Ends a process that lives on after its end: the faulting instruction ran again and its fault did
/// not come again, because another thread has changed a mapping meanwhile.
///
/// All other threads stand still then; without this the process would stand for ever, or go on with
/// one thread where the kernel would have ended it. Seen with 64 threads that map, unmap and read
/// pages at once.
///
/// RUNS-DURING-CRASH.
@safe
struct LateEnd {
  /// In milliseconds: long enough for a loaded machine to run one instruction.
  private static var time: Int { @_noLocks get { 1000 } }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Starts the watchdog's timer once more, whose signal the thread takes also behind the handler.
  ///
  /// Only where the kernel has called the handler, so that its return is the end. Another handler
  /// that called ours goes on for as long as it likes.
  ///
  /// A core file that takes longer is written all the same: the kernel keeps every signal but KILL
  /// from a process that dumps core. Source: Linux kernel/signal.c, prepare_signal.
  @_noLocks
  func prepare(_ context: SignalContext?) {
    if capture.installed.signals.watchdog != 0 {
      context?.unblock(capture.installed.signals.watchdog)
    }
    armOnce(capture, milliseconds: LateEnd.time)
  }

  /// Ends the process by the signal of its crash.
  @_noLocks
  func end() {
    let signal = capture.session.exception.signal.number
    SignalAction.set(signal, pm_signal_action())
    SignalMask.unblock(SignalMask.bit(signal))
    if capture.makes(CallBit.threadSignals) {
      _ = pm_tgkill(capture.shared.process.id, pm_gettid(), signal)
    } else {
      _ = pm_kill(capture.shared.process.id, signal)
    }
    // The first process of a PID namespace: the kernel discards the default action.
    _ = pm_exit_group(128 &+ signal)
  }
}
