internal import CSignalSafe

/// The timer whose signal limits how long a dump takes (`pm_handle_watchdog`).
///
/// The timer that the handler creates when it starts is armed only in a crash. A dump without a crash has a separate
/// timer, or none if the handler has none or the kernel refuses another.
///
/// RUNS-DURING-CRASH.
enum WatchdogTimer {
  /// Creates a timer; returns -1 if `signal` is 0, or if the kernel refuses another timer.
  ///
  /// - Parameter thread: the thread that gets the signal; 0 for any thread of the process.
  @_noLocks
  static func make(signal: Int32, thread: Int32 = 0) -> Int32 {
    var timer: Int32 = -1
    guard signal != 0, unsafe pm_timer_create(signal, thread, &timer) == 0 else { return -1 }
    return timer
  }
}

extension Capture {
  /// Starts a time limit for the capturing thread.
  @_noLocks
  func armTimer(milliseconds: Int) {
    guard session.hasFaultStack else { return }
    session.time.remaining.begin(milliseconds: milliseconds, at: clock)
    if session.time.isTicking || session.time.timer < 0 { return }
    session.time.isTicking =
      pm_timer_set(session.time.timer, Int64(truncatingIfNeeded: WatchdogTime.tick)) == 0
  }

  @_noLocks
  func disarmTimer() {
    session.time.remaining = WatchdogTime()
    if session.time.isTicking { _ = pm_timer_set(session.time.timer, 0) }
    session.time.isTicking = false
  }

  /// The watchdog's signal as a set of signals; empty if there is no timer.
  var tick: UInt64 {
    @_noLocks get { session.time.timer < 0 ? 0 : SignalMask.bit(installed.signals.watchdog) }
  }

  /// Prepares the handler's timer for a crash.
  ///
  /// If the program has taken the timer's signal, the handler takes it back in a crash that ends the process, and
  /// otherwise gives up its timer.
  ///
  /// If another thread may have no room for the signal frame, the signal goes only to the crashing thread. In a thread
  /// without room, the signal would end the process (`ThreadRoom`). If the kernel cannot create another timer, the
  /// signal still goes to any thread of the process.
  @_noLocks
  func aimTimer() {
    guard session.time.timer >= 0, mayMake(CallBit.threads) else { return }
    let signals = installed.signals
    let (tick, action) = (signals.watchdog, signals.watchdogAction)
    let isTaken = session.endsWithoutHandler && SignalAction.set(tick, action)
    if !isTaken, !signals.isOurs(tick, action) { session.time.timer = -1 }
    guard pm_has_small_stacks(), session.time.timer >= 0 else { return }
    let timer = WatchdogTimer.make(
      signal: installed.signals.watchdog, thread: session.exception.threadID)
    guard timer >= 0 else { return }
    _ = pm_timer_delete(session.time.timer)
    session.time.timer = timer
  }

  /// Creates a timer for a dump of a process that has not crashed; returns -1 if the handler has no timer, if the kernel
  /// refuses another one, or if the program uses the timer's signal.
  ///
  /// The timer's signal goes only to the thread that takes the dump. The signal arrives every 10 ms, and would
  /// otherwise interrupt system calls in threads that are not stopped.
  @_noLocks
  func makeTimer(for threadID: Int32) -> Int32 {
    let signals = installed.signals
    let isFree = tick != 0 && (SignalMask.pending ?? 0) & tick == 0
    guard isFree, signals.isOurs(signals.watchdog, signals.watchdogAction) else { return -1 }
    return WatchdogTimer.make(signal: signals.watchdog, thread: threadID)
  }
}
