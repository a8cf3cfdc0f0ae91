internal import CSignalSafe

/// Ends a section that takes too long: a call that hangs, a list without an end.
///
/// A timer sends its signal every 10 ms; each one that reaches the capturing thread counts (see
/// `WatchdogTime`), and none that anybody else sends. The signal is blocked on parked threads and open on the capturing one; a thread
/// that could not be stopped and gets it passes it on. Once the time is over, the section is
/// abandoned as if it had faulted, and those that follow are left out; the end mark is still
/// written, for which there is time of its own. A call that the kernel does not interrupt (state D)
/// is out of reach.
///
/// RUNS-DURING-CRASH. Source: timer_create(2).
@c(pm_handle_watchdog) @_noLocks
func pm_handle_watchdog(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) {
  guard let capture = Capture.ofHandler else { return }
  let thread = Int32(bitPattern: capture.shared.capturingThread.value)
  guard thread != 0, capture.shared.isOwnProcess,
    let information = unsafe SignalInformation(information)
  else { return }
  let tick = unsafe DeliveredSignal(signal, information.address, context)
  guard information.timer >= 0 else {
    // Sent in a loop, they would come one after the other, and the dump would not continue.
    if thread == pm_gettid() {
      let subject = capture.dump(takenBy: thread) ?? capture
      subject.session.time.isMuted = true
      tick.context?.block(signal)
    }
    return
  }
  if capture.isEnding {
    // Not one that was still under way when the dump was done.
    if information.timer == capture.session.time.timer,
      capture.session.time.left.hasPassed(capture.clock)
    {
      capture.endLate()
    }
    return
  }
  guard thread == pm_gettid() else {
    _ = information.queue(signal, for: thread, of: capture.shared.process.id)
    return
  }
  // A dump without a crash that stops threads has the same bound.
  let subject = capture.dump(takenBy: thread) ?? capture
  guard information.timer == subject.session.time.timer,
    subject.session.time.left.isOver(atTick: subject.clock)
  else { return }
  switch subject.session.time.phase {
  case .sections:
    subject.session.time.phase = .cut
    subject.session.time.left.begin(
      milliseconds: subject.session.time.division.finish, at: subject.clock)
    subject.session.recoveryPoints.breakOffSection(tick)
  case .cut, .finish, .over:
    subject.session.time.phase = .over
    subject.session.recoveryPoints.breakOffDump(tick)
  }
}
