internal import CSignalSafe

/// A thread that is stopped in our handler, and that Swift's backtracer shall find as if it ran.
///
/// The backtracer sends each thread a signal that it does not block, and its handler takes the
/// context of that signal for the thread's: here that would be one of ours. So the thread takes the
/// signal by waiting for it, which the kernel shows as one that is not blocked, and calls that
/// handler itself, with the context in which it was stopped or crashed.
///
/// RUNS-DURING-CRASH. Source: Swift stdlib/public/runtime/CrashHandlerLinux.cpp,
/// signal_for_suspend and pause_thread; Linux kernel/signal.c, do_sigtimedwait.
extension Capture {
  /// Tells all threads that are stopped or wait in the handler to answer the backtracer's signal, and waits until they
  /// do, for a quarter of a second at most; called on the capturing thread.
  @_noLocks
  func callStandIns() {
    if shared.stops.parking.value != 0 {
      shared.stops.parking.store(shared.stops.parking.value | 1)
      shared.stops.parking.wakeAll()
    }
    shared.wakeWaiting()
    let status = ThreadStatus(proc, scratch: session.scratch)
    var rounds = 0
    var index = 0
    let count = session.threads.count
    while index < count, rounds < 250 {
      let record = session.threads[index]
      let isOurs = record.status.isStill
      if isOurs { status.readBlockedSignals(record) }
      if !isOurs || !record.fields.knowsAllSignals || isReadyStandIn(record.fields.blockedSignals) {
        index &+= 1
        continue
      }
      // Nobody wakes this; it passes a millisecond.
      let turn = shared.turn.value
      shared.turn.wait(while: turn, milliseconds: 1)
      rounds &+= 1
    }
  }

  /// True for a thread that waits for the signal, and blocks the one that stops threads.
  private func isReadyStandIn(_ blocked: UInt64) -> Bool {
    let stopSignal = installed.signals.stop
    guard !SignalMask.has(blocked, SIGPROF) else { return false }
    return stopSignal == 0 || SignalMask.has(blocked, stopSignal)
  }

  /// Waits while a word has a value, and answers the backtracer's signal meanwhile.
  ///
  /// - Parameter context: where the thread is to be found.
  @_noLocks
  func standIn(_ context: SignalContext?, while word: FutexWord, is value: UInt32) {
    // Every signal that a thread in our handler has open, except for faults.
    let mask = SignalMask.block(
      SignalMask.bit(SIGPROF) | SignalMask.bit(installed.signals.stop)
        | SignalMask.bit(installed.signals.watchdog))
    while word.value == value {
      var set = SignalMask.bit(SIGPROF)
      var information = pm_signal_information()
      let result = unsafe pm_wait_signal(&set, &information, 100)
      if result == Int(SIGPROF) {
        unsafe callBacktracersHandler(&information, context)
      } else if result != -Int(EAGAIN) && result != -Int(EINTR) {
        // A filter forbids the wait. The backtracer then continues without this thread.
        word.wait(while: value, milliseconds: 100)
      }
    }
    if let mask { SignalMask.set(mask) }
  }

  /// Calls the signal's handler, if it is the backtracer's.
  private func callBacktracersHandler(
    _ information: UnsafeMutableRawPointer, _ context: SignalContext?
  ) {
    guard let action = SignalAction.current(SIGPROF),
      action.handler &- shared.backtracer.code < shared.backtracer.codeSize
    else { return }
    unsafe pm_call_previous_handler(
      action.handler, SIGPROF, information, context?.address)
  }
}
