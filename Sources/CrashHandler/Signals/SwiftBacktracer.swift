internal import CSignalSafe

/// Swift's own backtracer, where it is the handler that was there before ours.
///
/// Unlike other handlers it is known: it always returns, and has put the
/// default action in for all its signals by then: after a fault that comes again, and after abort(),
/// that is the end. Meanwhile it stops all threads by signals, and waits two seconds, up to sixteen
/// times, for those that do not answer. A second thread that crashes into it, or that captures
/// meanwhile, makes a second backtrace of a process that ends in the middle of it: a report that is
/// torn, and a `swift-backtrace` that reads from nobody for ever.
///
/// So it runs alone, while its crash still holds the handler: all others stay where they stand or
/// wait, where it finds them as if they ran (`StandIn`).
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: Swift
/// stdlib/public/runtime/CrashHandlerLinux.cpp.
@safe
struct SwiftBacktracer {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Whether it runs after this crash; where it does not, the default action takes its place.
  ///
  /// Not for a stack that is over, on a thread that has its first alternate stack from us: without
  /// us the kernel would have ended the process, for it had no place to call any handler on.
  @_noLocks
  func takePlace(_ signal: DeliveredSignal) -> Bool {
    guard SignalMask.has(capture.shared.backtracer.signals, signal.number) else { return false }
    guard let context = signal.context, signal.number == SIGSEGV || signal.number == SIGBUS,
      !context.isOnSignalStack,
      capture.shared.stackOffers.isFirst(context.signalStackSize),
      capture.memory.isReadable(context.number),
      !hasRoom(below: context.stackPointer)
    else { return true }
    forget()
    return false
  }

  /// Whether the process ends once it has returned.
  @_noLocks
  func isEnd(_ signal: DeliveredSignal) -> Bool {
    if signal.number == SIGABRT { return AbortCall(capture).isUnderWay(signal) }
    return signal.context != nil && signal.code > 0
      && comesAgain(signal.number, code: signal.code)
  }

  /// Runs it, and makes the default actions those that follow.
  ///
  /// - Parameter isEnd: whether the process ends once it has returned. If not, the handler is ready
  ///   for the next crash afterwards.
  @_noLocks
  func run(_ signal: DeliveredSignal, isEnd: Bool) {
    capture.shared.ending.store(CrashEnd.endsLater)
    StandIn(capture).call()
    let previous = PreviousHandler(capture)
    let ours = previous.actionsOfOurs()
    previous.call(signal)
    forget()
    if isEnd { return }
    let isRemembered = capture.session.exception.outcomeOffset > 0
    if isRemembered { Rearming(capture).rearm() }
    previous.takeBack(ours, after: signal.number)
    if isRemembered { SurvivalRecord(capture).markReturned(signal) }
    capture.shared.ending.store(0)
  }

  /// True for a fault that the instruction raises again, whose signal it handles.
  ///
  /// Of an x86 breakpoint, behind which the thread stands, the process goes on. A memory error
  /// reported late (BUS_MCEERR_AO) does not come again either.
  private func comesAgain(_ signal: Int32, code: Int32) -> Bool {
    #if arch(arm64)
      if signal == SIGTRAP { return code == TRAP_BRKPT }
    #endif
    return signal == SIGSEGV || signal == SIGILL || signal == SIGFPE
      || signal == SIGBUS && code != BUS_MCEERR_AO
  }

  /// It runs once in a process.
  private func forget() {
    var number: Int32 = 1
    while number < 32 {
      if SignalMask.has(capture.shared.backtracer.signals, number) {
        capture.shared.previousActions[number] = pm_signal_action()
      }
      number &+= 1
    }
    capture.shared.backtracer.signals = 0
  }

  /// True if all of what the frame of a signal needs can be accessed.
  ///
  /// Source: Linux arch/x86/kernel/signal.c, get_sigframe: below the red zone.
  private func hasRoom(below stackPointer: UInt64) -> Bool {
    let size = 128 &+ capture.installed.signals.frameSize
    var distance: UInt64 = 8
    while distance < size &+ 4096 {
      // The frame's two ends, and each page between them.
      guard capture.memory.isReadable(stackPointer &- (distance < size ? distance : size)) else {
        return false
      }
      distance &+= 4096
    }
    return true
  }
}

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
  private static var signal: UInt64 { SignalMask.bit(SIGPROF) }

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
    let status = ThreadStatus(capture.proc, scratch: capture.session.scratch)
    var rounds = 0
    var index = 0
    let count = capture.session.threads.count
    while index < count, rounds < 250 {
      let record = capture.session.threads[index]
      let isOurs = record.status.isStill
      if isOurs { status.readBlockedSignals(record) }
      if !isOurs || !record.fields.knowsAllSignals || isReady(record.fields.blockedSignals) {
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
    // Every signal that a thread in our handler has open, but for faults.
    let mask = SignalMask.block(
      StandIn.signal | SignalMask.bit(capture.installed.signals.stop)
        | SignalMask.bit(capture.installed.signals.watchdog))
    while word.value == value {
      var set = StandIn.signal
      var information = pm_signal_information()
      let result = unsafe pm_wait_signal(&set, &information, 100)
      if result == Int(SIGPROF) {
        unsafe callHandler(&information, context)
      } else if result != -Int(EAGAIN) && result != -Int(EINTR) {
        // Kept from us: then the backtracer goes without this thread.
        word.wait(while: value, milliseconds: 100)
      }
    }
    if let mask { SignalMask.set(mask) }
  }

  /// Calls the signal's handler, if it is the backtracer's.
  private func callHandler(
    _ information: UnsafeMutableRawPointer, _ context: SignalContext?
  ) {
    guard let action = SignalAction.current(SIGPROF),
      action.handler &- capture.shared.backtracer.code < capture.shared.backtracer.codeSize
    else { return }
    unsafe pm_call_previous_handler(
      action.handler, SIGPROF, information, context?.address)
  }
}
