internal import CSignalSafe

/// A thread that stands still in our handler, and that Swift's backtracer shall find as if it ran.
///
/// The backtracer sends each thread a signal that it does not block, and its handler takes the
/// context of that signal for the thread's: here that would be one of ours. So the thread takes the
/// signal by waiting for it, which the kernel shows as one that is not blocked, and calls that
/// handler itself, with the context in which it was stopped or crashed.
///
/// RUNS-DURING-CRASH. Source: Swift stdlib/public/runtime/CrashHandlerLinux.cpp,
/// signal_for_suspend and pause_thread; Linux kernel/signal.c, do_sigtimedwait.
@safe
struct StandIn {
  private static var signal: UInt64 {
    @_noLocks get { SignalMask.bit(ThreadStopper.profileSignal) }
  }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Has all threads that stand or wait in the handler stay for the backtracer, and waits until they
  /// do, for a quarter of a second at most; on the capturing thread.
  @_noLocks
  func call() {
    if capture.shared.stops.parking.value != 0 {
      capture.shared.stops.parking.store(capture.shared.stops.parking.value | 1)
      capture.shared.stops.parking.wakeAll()
    }
    CrashEnd(capture).wakeWaiting()
    let stopper = ThreadStopper(capture)
    var rounds = 0
    var index = 0
    let count = capture.session.threads.count
    while index < count, rounds < 250 {
      let record = capture.session.threads[index]
      let isOurs = record.status.isStill
      if !isOurs || !stopper.readStatus(record) || isReady(record.fields.blockedSignals) {
        index &+= 1
        continue
      }
      // Nobody wakes this; it passes a millisecond.
      let turn = capture.shared.turn.value
      capture.shared.turn.wait(while: turn, milliseconds: 1)
      rounds &+= 1
    }
  }

  /// True for a thread that waits for the signal, and blocks the one that stops threads.
  @_noLocks
  private func isReady(_ blocked: UInt64) -> Bool {
    let stopSignal = capture.installed.signals.stop
    guard blocked & StandIn.signal == 0 else { return false }
    return stopSignal == 0 || SignalMask.has(blocked, stopSignal)
  }

  /// Stays as long as a word has a value.
  ///
  /// - Parameter context: where the thread is to be found.
  @_noLocks
  func stay(_ context: SignalContext?, while word: FutexWord, is value: UInt32) {
    // All that a thread in our handler has open, but for faults.
    let mask = SignalMask.block(
      StandIn.signal | SignalMask.bit(capture.installed.signals.stop)
        | SignalMask.bit(capture.installed.signals.watchdog))
    while word.value == value {
      var set = StandIn.signal
      var information = pm_signal_information()
      let result = unsafe pm_wait_signal(&set, &information, 100)
      if result == Int(ThreadStopper.profileSignal) {
        unsafe callHandler(&information, context)
      } else if result != -11 && result != -4 {  // EAGAIN, EINTR
        // Kept from us: then the backtracer goes without this thread.
        word.wait(while: value, milliseconds: 100)
      }
    }
    if let mask { SignalMask.set(mask) }
  }

  /// Calls the signal's handler, if it is the backtracer's.
  @_noLocks
  private func callHandler(
    _ information: UnsafeMutableRawPointer, _ context: SignalContext?
  ) {
    guard let action = SignalAction.current(ThreadStopper.profileSignal),
      action.handler &- capture.shared.backtracer.code < capture.shared.backtracer.codeSize
    else { return }
    unsafe pm_call_previous_handler(
      action.handler, ThreadStopper.profileSignal, information, context?.address)
  }
}
