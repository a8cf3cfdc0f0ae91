internal import CSignalSafe

/// The handler of the crash signals.
///
/// One thread captures its crash, and other threads that crash wait. After the capture, the process ends or continues
/// as it would have without this handler.
///
/// - Parameter entryStackPointer: the stack pointer at the handler's first instruction, passed by `pm_enter_crash`.
///
/// RUNS-DURING-CRASH. Source: sigaction(2), signal-safety(7).
@c(pm_handle_crash) @_noLocks
func pm_handle_crash(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?,
  _ entryStackPointer: UInt64
) {
  guard let capture = Capture.ofHandler else { return }
  let call = unsafe HandlerCall(
    DeliveredSignal(signal, information, context), entryStackPointer, entryTime: capture.clock)
  // `becomeOwnProcess` fails in a vfork child, which runs in its parent's memory and would overwrite the parent's
  // dump. It also fails if this thread has faulted in `becomeOwnProcess`, or has waited ten seconds for another
  // thread to finish that call. In the last two cases, the state is only partly adapted to this process.
  guard capture.becomeOwnProcess() else {
    capture.restoreAndReraise(call.signal)
    return
  }
  if call.isFromKernel, capture.requeueIfSentToWorker(call.signal) { return }
  if capture.recoverLiveDump(from: call.signal, on: call.threadID) { return }
  if capture.shared.capturingThread.value == UInt32(bitPattern: call.threadID) {
    capture.recoverCapture(from: call)
    return
  }
  if capture.offerFirstChance(to: call) { return }
  // All signals except faults are blocked now. Before, the thread may have had the mask of a handler that called this
  // handler, the mask of the first-chance callback, or, for SIGSYS, a mask that blocks faults too.
  SignalMask.set(~capture.installed.signals.faults)
  guard capture.waitToCapture(call) else {
    capture.restoreAndReraise(call.signal)
    return
  }
  let raised = RaisedSignals(blocked: call.signal.context?.signalMask ?? .max)
  capture.decideOutcome(of: call)
  if capture.needsDump() {
    capture.takeDump()
    // If Swift's backtracer runs, `runBacktracer` rearms the handler later.
    if capture.session.exception.rearmsAtOnce { capture.rearm() }
  }
  raised.takeBack()
  if capture.session.exception.isBacktraced { capture.runBacktracer(call.signal) }
  raised.takeBack()
  if capture.session.exception.outcome.isEnd {
    capture.endProcess(by: call)
  } else {
    capture.chain(call)
  }
}

extension Capture {
  /// Takes the dump on the handler's large stack.
  ///
  /// Until `captureCrash` sets the alternate stack for faults in the handler, faults except SIGSYS are blocked: because
  /// the thread has left its alternate stack, the kernel would write the frame of another signal over the frame of the
  /// crash there.
  fileprivate func takeDump() {
    blockFaultsAndWatchdog()
    unsafe pm_call_on_stack(session.stackTop, pm_capture_crash, argument)
  }
}
