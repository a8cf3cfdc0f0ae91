internal import CSignalSafe
internal import IntermediateDump

/// Ends a section that takes too long: a call that hangs, a list without an end.
///
/// The timer's signal is blocked on parked threads and open on the capturing one; a thread that
/// could not be stopped and gets it passes it on. The section is abandoned as if it had faulted,
/// and those that follow are left out; the end mark is still written, for which the timer runs a
/// second time. A call that the kernel does not interrupt (state D) is out of reach.
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
    unsafe LateEnd(state).end()
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
  let pads = unsafe capture.pointee.landingPads
  let isLast = unsafe capture.pointee.isFinishing || capture.pointee.isOutOfTime
  if isLast {
    unsafe capture.pointee.isOver = true
  } else {
    unsafe capture.pointee.isOutOfTime = true
    unsafe WatchdogTimer.arm(
      capture.pointee.timer, milliseconds: capture.pointee.captureTime.finish)
  }
  let pad = unsafe pads[0].armed != 0 && !isLast ? pads : pads + 2
  guard let context = unsafe context, unsafe pad.pointee.armed != 0 else { return }
  unsafe pad.pointee.armed = 0
  unsafe pads[0].armed = 0
  unsafe pads[1].armed = 0
  unsafe pm_context_land(context, pad, signal)
}

/// The timer behind it, disarmed until a crash.
///
/// RUNS-DURING-CRASH.
struct WatchdogTimer {
  /// Makes a timer; -1 if there is no signal for it, or no timer to be had.
  @_noLocks
  static func make(signal: Int32) -> Int32 {
    var timer: Int32 = -1
    guard signal != 0, unsafe pm_timer_create(signal, &timer) == 0 else { return -1 }
    return timer
  }

  /// Starts or, with 0, stops a timer.
  @_noLocks
  static func arm(_ timer: Int32, milliseconds: Int) {
    if timer >= 0 { _ = pm_timer_arm(timer, Int64(truncatingIfNeeded: milliseconds)) }
  }
}
