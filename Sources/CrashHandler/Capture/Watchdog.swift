internal import CSignalSafe
internal import IntermediateDump

/// Ends a section that takes too long: a call that hangs, a list without an end.
///
/// A timer sends its signal every 10 ms; each one that reaches the capturing thread counts (see
/// `WatchdogTime`). The signal is blocked on parked threads and open on the capturing one; a thread
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
  guard let stateAddress = unsafe pm_state() else { return }
  let state = unsafe stateAddress.assumingMemoryBound(to: HandlerState.self)
  let owner = unsafe Int32(bitPattern: state.pointee.owner.value)
  guard owner != 0, unsafe OwnProcess(state).isCurrent else { return }
  if unsafe state.pointee.ending.value == CrashEnd.ends {
    // Not one that was still under way when the dump was done.
    if unsafe state.pointee.time.hasPassed(state.pointee.clock) { unsafe LateEnd(state).end() }
    return
  }
  guard owner == pm_gettid() else {
    if let information = unsafe information {
      _ = unsafe pm_tgsigqueueinfo(state.pointee.processID, owner, signal, information)
    }
    return
  }
  // A dump without a crash that stops threads has the same bound.
  let capture = unsafe state.pointee.dumpingThreads.state(of: owner) ?? state
  guard unsafe capture.pointee.time.isOver(atTick: capture.pointee.clock) else { return }
  let pads = unsafe capture.pointee.landingPads
  let isLast = unsafe capture.pointee.isFinishing || capture.pointee.isOutOfTime
  if isLast {
    unsafe capture.pointee.isOver = true
  } else {
    unsafe capture.pointee.isOutOfTime = true
    unsafe capture.pointee.time.begin(
      milliseconds: capture.pointee.captureTime.finish, at: capture.pointee.clock)
  }
  let pad = unsafe pads[0].armed != 0 && !isLast ? pads : pads + 2
  guard let context = unsafe context, unsafe pad.pointee.armed != 0 else { return }
  unsafe pad.pointee.armed = 0
  unsafe pads[0].armed = 0
  unsafe pads[1].armed = 0
  unsafe pm_context_land(context, pad, signal)
}

/// Gives the capturing thread so much time from now on; 0 stops the timer.
@_noLocks
func arm(_ state: UnsafeMutablePointer<HandlerState>, milliseconds: Int) {
  guard unsafe state.pointee.hasFaultStack else { return }
  unsafe state.pointee.time.begin(milliseconds: milliseconds, at: state.pointee.clock)
  if milliseconds > 0, unsafe state.pointee.isTicking { return }
  let interval = milliseconds > 0 ? WatchdogTime.tick : 0
  let isSet = unsafe WatchdogTimer.set(
    state.pointee.timer, milliseconds: interval, interval: interval)
  unsafe state.pointee.isTicking = isSet && milliseconds > 0
}

/// Sends the signal once, after so long by the clock.
@_noLocks
func armOnce(_ state: UnsafeMutablePointer<HandlerState>, milliseconds: Int) {
  guard unsafe state.pointee.hasFaultStack else { return }
  unsafe state.pointee.time.begin(milliseconds: milliseconds, at: state.pointee.clock)
  unsafe state.pointee.isTicking = false
  _ = unsafe WatchdogTimer.set(state.pointee.timer, milliseconds: milliseconds, interval: 0)
}

/// The timer behind it, disarmed until a crash.
///
/// RUNS-DURING-CRASH.
struct WatchdogTimer {
  /// Makes a timer; -1 if there is no signal for it, or no timer to be had.
  @_noLocks
  static func make(signal: Int32) -> Int32 {
    var timer: Int32 = -1
    guard signal != 0, unsafe pm_timer_create(signal, 0, &timer) == 0 else { return -1 }
    return timer
  }

  /// Sends the signal after so long and then in intervals, or not at all with 0; false if it cannot.
  @_noLocks
  static func set(_ timer: Int32, milliseconds: Int, interval: Int) -> Bool {
    timer >= 0
      && pm_timer_set(
        timer, Int64(truncatingIfNeeded: milliseconds), Int64(truncatingIfNeeded: interval)) == 0
  }
}

extension HandlerState {
  /// The monotonic clock; 0 where it is not asked.
  var clock: UInt64 { @_noLocks get { makes(CallBit.clocks) ? pm_monotonic_clock() : 0 } }
}
