internal import CSignalSafe

/// Answers the signal that Swift's backtracer sends to a thread that is stopped or waits in this handler.
///
/// The backtracer then records where the thread was stopped or crashed, instead of a location in this handler.
///
/// The backtracer sends each thread a signal that the thread does not block, and the backtracer's handler records the
/// context of that signal. For a stopped thread, that context would be inside this handler. So the thread waits for the
/// signal with sigtimedwait, during which `/proc` shows the signal as not blocked. The thread itself then calls the
/// backtracer's handler, with the context in which it was stopped or crashed.
///
/// RUNS-DURING-CRASH. Source: Swift stdlib/public/runtime/CrashHandlerLinux.cpp,
/// signal_for_suspend and pause_thread; Linux kernel/signal.c, do_sigtimedwait.
extension Capture {
  /// Makes the threads that are stopped, or that wait in the handler, ready for the backtracer's signal.
  ///
  /// Waits until these threads are ready, in at most 250 steps of one millisecond; called on the capturing thread.
  @_noLocks
  func callStandIns() {
    if shared.stops.parking.value != 0 {
      shared.stops.parking.store(shared.stops.parking.value | 1)
      shared.stops.parking.wakeAll()
    }
    shared.wakeWaiting()
    let status = ThreadFiles(proc, scratch: session.scratch)
    var rounds = 0
    var index = 0
    let count = session.threads.count
    while index < count, rounds < 250 {
      let record = session.threads[index]
      // `isOurs` is true for a thread that is stopped or waits in this handler.
      let isOurs = record.status.isStill
      if isOurs { status.readBlockedSignals(record) }
      if !isOurs || !record.fields.knowsAllSignals || isReadyStandIn(record.fields.blockedSignals) {
        index &+= 1
        continue
      }
      // `turn` does not change meanwhile, so this wait only sleeps for one millisecond.
      let turn = shared.turn.value
      shared.turn.wait(while: turn, milliseconds: 1)
      rounds &+= 1
    }
  }

  /// True if a thread's blocked signals show that it waits for SIGPROF in `standIn`: SIGPROF is not blocked, and the
  /// real-time stop signal, if there is one, is blocked.
  private func isReadyStandIn(_ blocked: UInt64) -> Bool {
    let stopSignal = installed.signals.stop
    guard !SignalMask.has(blocked, SIGPROF) else { return false }
    return stopSignal == 0 || SignalMask.has(blocked, stopSignal)
  }

  /// Waits until `word` no longer has the given value, and answers the backtracer's signals meanwhile.
  ///
  /// - Parameter context: the registers that the backtracer should record for this thread.
  @_noLocks
  func standIn(_ context: SignalContext?, while word: FutexWord, is value: UInt32) {
    // These signals may be unblocked, for example if another handler called this handler, so they are blocked here.
    let mask = SignalMask.block(
      SignalMask.bit(SIGPROF) | SignalMask.bit(installed.signals.stop)
        | SignalMask.bit(installed.signals.watchdog))
    while word.value == value {
      var set = SignalMask.bit(SIGPROF)
      var information = pm_signal_information()
      let result = unsafe pm_wait_signal(&set, &information, 100)
      if result == Int(SIGPROF) {
        unsafe callBacktracersHandler(&information, context)
        continue
      }
      // If a seccomp filter forbids the call, the backtracer continues without this thread.
      if result != -Int(EAGAIN) && result != -Int(EINTR) {
        word.wait(while: value, milliseconds: 100)
      }
      replaceLostThread()
    }
    if let mask { SignalMask.set(mask) }
  }

  /// Calls the handler of SIGPROF, if it belongs to the backtracer.
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
