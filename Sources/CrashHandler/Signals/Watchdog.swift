internal import CSignalSafe
internal import IntermediateDump

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
  unsafe pm_run_handler(pm_in_watchdog, signal, information, context)
}

/// The rest of it, where the thread's control block can be read.
///
/// RUNS-DURING-CRASH.
@c(pm_in_watchdog) @_noLocks
private func pm_in_watchdog(
  _ signal: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
) {
  pm_allow_unaligned_access()
  guard let capture = Capture.ofHandler else { return }
  let owner = Int32(bitPattern: capture.shared.capturingThread.value)
  guard owner != 0, OwnProcess(capture).isCurrent,
    let information = unsafe SignalInformation(information)
  else { return }
  let tick = unsafe DeliveredSignal(signal, information.address, context)
  guard information.timer >= 0 else {
    // Sent in a loop, they would come one after the other, and the dump would not go on.
    if owner == pm_gettid() {
      let subject = capture.shared.dumpingThreads.capture(of: owner) ?? capture
      subject.session.time.isMuted = true
      tick.context?.block(signal)
    }
    return
  }
  if capture.shared.ending.value == CrashEnd.ends {
    // Not one that was still under way when the dump was done.
    if information.timer == capture.session.time.timer,
      capture.session.time.left.hasPassed(capture.clock)
    {
      LateEnd(capture).end()
    }
    return
  }
  guard owner == pm_gettid() else {
    _ = information.queue(signal, for: owner, of: capture.shared.process.id)
    return
  }
  // A dump without a crash that stops threads has the same bound.
  let subject = capture.shared.dumpingThreads.capture(of: owner) ?? capture
  guard information.timer == subject.session.time.timer,
    subject.session.time.left.isOver(atTick: subject.clock)
  else { return }
  switch subject.session.time.phase {
  case .sections:
    subject.session.time.phase = .cut
    subject.session.time.left.begin(
      milliseconds: subject.session.time.division.finish, at: subject.clock)
    subject.session.landingPads.breakOffSection(tick)
  case .cut, .finish, .over:
    subject.session.time.phase = .over
    subject.session.landingPads.breakOffDump(tick)
  }
}

/// Gives the capturing thread so much time from now on; 0 stops the timer.
@_noLocks
func arm(_ capture: Capture, milliseconds: Int) {
  guard capture.session.hasFaultStack else { return }
  capture.session.time.left.begin(milliseconds: milliseconds, at: capture.clock)
  if milliseconds > 0, capture.session.time.isTicking { return }
  let interval = milliseconds > 0 ? WatchdogTime.tick : 0
  let isSet = WatchdogTimer.set(
    capture.session.time.timer, milliseconds: interval, interval: interval)
  capture.session.time.isTicking = isSet && milliseconds > 0
}

/// Sends the signal once, after so long by the clock.
@_noLocks
func armOnce(_ capture: Capture, milliseconds: Int) {
  guard capture.session.hasFaultStack else { return }
  capture.session.time.left.begin(milliseconds: milliseconds, at: capture.clock)
  capture.session.time.isTicking = false
  _ = WatchdogTimer.set(capture.session.time.timer, milliseconds: milliseconds, interval: 0)
}

/// The timer behind it, disarmed until a crash.
///
/// RUNS-DURING-CRASH.
struct WatchdogTimer {
  /// Makes a timer; -1 if there is no signal for it, or no timer to be had.
  ///
  /// - Parameter thread: the one that the signal goes to; 0 for any of the process.
  @_noLocks
  static func make(signal: Int32, thread: Int32 = 0) -> Int32 {
    var timer: Int32 = -1
    guard signal != 0, unsafe pm_timer_create(signal, thread, &timer) == 0 else { return -1 }
    return timer
  }

  /// Has the signal go to the calling thread alone, where it may end the process on another one for
  /// want of room for its frame (`ThreadRoom`).
  ///
  /// If no other timer is to be had, it goes to the process as before.
  @_noLocks
  static func aim(_ capture: Capture) {
    guard pm_has_small_stacks(), capture.session.time.timer >= 0, capture.mayMake(CallBit.threads)
    else { return }
    let threadID = capture.session.exception.threadID
    let timer = make(signal: capture.installed.signals.watchdog, thread: threadID)
    guard timer >= 0 else { return }
    _ = pm_timer_delete(capture.session.time.timer)
    capture.session.time.timer = timer
  }

  /// Makes one for a dump without a crash; -1 if the handler has none.
  ///
  /// Its signal goes to the dumping thread alone: it comes every 10 ms, and would end calls of
  /// threads that are not stopped.
  @_noLocks
  static func make(beside handlers: Capture, for threadID: Int32) -> Int32 {
    guard handlers.session.time.timer >= 0 else { return -1 }
    return make(signal: handlers.installed.signals.watchdog, thread: threadID)
  }

  /// Sends the signal after so long and then in intervals, or not at all with 0; false if it cannot.
  @_noLocks
  static func set(_ timer: Int32, milliseconds: Int, interval: Int) -> Bool {
    timer >= 0
      && pm_timer_set(
        timer, Int64(truncatingIfNeeded: milliseconds), Int64(truncatingIfNeeded: interval)) == 0
  }
}
