internal import CSignalSafe

/// Swift's own backtracer, where it is the handler that was there before ours.
///
/// Unlike other handlers it is known: it always returns, and has put the
/// default action in for all its signals by then: after a fault that comes again, and after abort(),
/// that is the end. Meanwhile it stops all threads by signals, and waits two seconds, up to sixteen
/// times, for those that do not answer. A second thread that crashes into it, or that captures
/// meanwhile, makes a second backtrace of a process that ends in the middle of it: a report that is
/// torn, and a `swift-backtrace` that waits forever for input.
///
/// So it runs alone, while its crash still holds the handler: all others stay where they stand or
/// wait, where it finds them as if they ran (`standIn`).
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: Swift
/// stdlib/public/runtime/CrashHandlerLinux.cpp.
extension Capture {
  /// Decides whether the backtracer runs after this crash; if not because of a stack overflow, removes it, so that the
  /// default action follows.
  ///
  /// It does not run for a stack overflow on a thread whose first alternate stack is ours: without our handler the
  /// kernel would have found no stack for any handler, and ended the process.
  @_noLocks
  func goesToBacktracer(_ signal: DeliveredSignal) -> Bool {
    guard SignalMask.has(shared.backtracer.signals, signal.number) else { return false }
    guard let context = signal.context, signal.number == SIGSEGV || signal.number == SIGBUS,
      !context.isOnSignalStack, shared.stackOffers.isFirst(context.signalStackSize),
      memory.isReadable(context.number), !hasRoomForFrame(below: context.stackPointer)
    else { return true }
    forgetBacktracer()
    return false
  }

  /// Whether the process ends once it has returned: after abort(), and after a fault that comes again.
  @_noLocks
  func endsAfterBacktrace(_ signal: DeliveredSignal) -> Bool {
    if signal.number == SIGABRT { return isAborting(signal) }
    return signal.context != nil && signal.recurrence.isLikely
  }

  /// Runs it, and makes the default actions those that follow.
  ///
  /// Where the process does not end, the handler is ready for the next crash afterwards.
  @_noLocks
  func runBacktracer(_ signal: DeliveredSignal) {
    shared.ending.store(Shared.Ending.later)
    callStandIns()
    let ours = signalsWithOurHandler()
    callPreviousHandler(signal)
    forgetBacktracer()
    if session.exception.outcome.isEnd { return }
    let isRemembered = session.exception.outcomeOffset > 0
    if isRemembered { rearm() }
    takeBackSignals(ours, after: signal.number)
    if isRemembered { markReturned(signal) }
    shared.ending.store(0)
  }

  /// Notes that the previous handler of the crash just remembered has returned; on the thread that
  /// captures still.
  private func markReturned(_ signal: DeliveredSignal) {
    shared.survived.handlerHasReturned = true
    guard signal.isAsynchronous, let information = signal.information,
      // abort() goes on to end the process.
      signal.number != SIGABRT || information.sender != shared.process.id
    else { return }
    markWentOn()
  }

  /// It runs once in a process.
  private func forgetBacktracer() {
    var number: Int32 = 1
    while number < 32 {
      if SignalMask.has(shared.backtracer.signals, number) {
        shared.previousActions[number] = pm_signal_action()
      }
      number &+= 1
    }
    shared.backtracer.signals = 0
  }

  /// True if all of what the frame of a signal needs can be accessed.
  ///
  /// Source: Linux arch/x86/kernel/signal.c, get_sigframe: below the red zone.
  private func hasRoomForFrame(below stackPointer: UInt64) -> Bool {
    let size = 128 &+ installed.signals.frameSize
    var distance: UInt64 = 8
    while distance < size &+ 4096 {
      // The frame's two ends, and each page between them.
      guard memory.isReadable(stackPointer &- (distance < size ? distance : size)) else {
        return false
      }
      distance &+= 4096
    }
    return true
  }
}
