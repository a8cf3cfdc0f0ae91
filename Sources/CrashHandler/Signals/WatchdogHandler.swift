internal import CSignalSafe

/// The handler of the watchdog's signal: cuts short a dump that takes too long, for example because a call hangs or a
/// list is endless.
///
/// A timer sends a signal every 10 ms. Each of these signals that reaches the capturing thread is a tick (see
/// `WatchdogTime`). The same signal from any other sender does not count. Stopped threads block the signal. A thread
/// that could not be stopped, and gets the signal, passes it on to the capturing thread, or replaces it if it no longer
/// exists. After the time limit, the current section ends as if it had faulted, and later sections are left out. The
/// dump's end mark has a separate time limit, and is still written. A system call that the kernel does not interrupt
/// (state D) cannot be ended.
///
/// A call may also wait for a stopped thread of the process, which serves a seccomp filter's notifications. So once all
/// time is over, the stopped threads resume.
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
  // The capturing thread may be taking a dump without a crash. The timer limits the time of such a dump too, so the
  // tick is then for that dump.
  let subject = capture.liveDump(takenBy: thread) ?? capture
  guard information.timer >= 0 else {
    // The timer did not send this signal. The signal is blocked until the next section, because another process could
    // otherwise delay the dump by sending such signals in a loop.
    if thread == pm_gettid() {
      subject.session.time.isMuted = true
      tick.context?.signalMask |= SignalMask.bit(signal)
    }
    return
  }
  if capture.isEnding {
    // While the process is ending, ticks from other timers are ignored.
    guard information.timer == capture.session.time.timer,
      capture.session.time.remaining.isOver(atTick: capture.clock)
    else { return }
    capture.shared.stops.resume()
    // A seccomp filter may end only this thread. The next tick then finds the time over again, on another thread.
    capture.session.time.remaining.begin(milliseconds: WatchdogTime.tick, at: capture.clock)
    return capture.forceEnd()
  }
  guard thread == pm_gettid() else {
    capture.replaceLostThread()
    _ = information.queue(signal, for: thread, of: capture.shared.process.id)
    return
  }
  guard information.timer == subject.session.time.timer else { return }
  let isOver = subject.session.time.remaining.isOver(atTick: subject.clock)
  capture.shared.ticksLeft.store(
    UInt32(truncatingIfNeeded: subject.session.time.remaining.ticksLeft))
  guard isOver else { return }
  switch subject.session.time.phase {
  case .sections:
    subject.session.time.phase = .cut
    subject.session.time.remaining.begin(
      milliseconds: subject.session.time.division.finish, at: subject.clock)
    subject.session.recoveryPoints.breakOffSection(tick)
  case .cut, .finish, .over:
    subject.session.time.phase = .over
    if !subject.session.recoveryPoints.breakOffDump(tick) { capture.shared.stops.resume() }
  }
}
