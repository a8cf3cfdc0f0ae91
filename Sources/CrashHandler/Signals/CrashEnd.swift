internal import CSignalSafe
internal import IntermediateDump

/// Ends a crash once the dump is taken: by the previous handler, or by the kernel's default action.
///
/// RUNS-DURING-CRASH. Source: Crashpad `util/posix/signals.cc`.
@safe
struct CrashEnd {
  // Values of `ending`; 0 as long as the process may live.
  /// Our handler is done, and the kernel ends the process.
  static var ends: UInt32 { @_noLocks get { 1 } }
  /// A handler that was there before ours runs, and the process ends, or is ready for the next
  /// crash, when it returns.
  static var endsLater: UInt32 { @_noLocks get { 2 } }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// A fault of the handler itself: goes to the landing pad that is armed, the innermost first.
  ///
  /// - Parameter isKernels: as in `end`.
  @_noLocks
  func land(_ signal: DeliveredSignal, isKernels: Bool) {
    if capture.session.landingPads.landFault(signal) { return }
    // A fault before the first section or behind the last, or the crash again. The flushed part is
    // on disk; end as we would have ended.
    capture.shared.timesReturned &+= 1
    end(signal, isKernels: isKernels)
  }

  /// True for a signal that somebody sends to the capturing thread while it dumps, and for one of
  /// another number once the end is under way: the process would end by a signal that its report
  /// does not name.
  ///
  /// Of the same number it may be the crash again: `passOn` sends it in its sender's name.
  @_noLocks
  func passesOver(_ signal: DeliveredSignal) -> Bool {
    guard signal.isForeign(to: capture.shared.process.id) else { return false }
    let ending = capture.shared.ending.value
    return ending == 0
      || ending == CrashEnd.ends && signal.number != capture.session.exception.signal.number
  }

  /// True once the default action follows, for another signal of the capturing thread: it did not get
  /// back to its crash, as under a filter that traps rt_sigreturn.
  @_noLocks
  func isUnderWay(butNotBy signal: DeliveredSignal) -> Bool {
    capture.shared.ending.value == CrashEnd.ends
      && signal.number != capture.session.exception.signal.number
  }

  /// Ends the process by the crash of the calling thread, which stays the owner.
  ///
  /// Nobody who waits is woken: a thread that went on with a crash of its own would race this one,
  /// and the process would end by the signal of either. Seen in 58 of 60 runs of threads that
  /// crashed at once in different ways.
  ///
  /// - Parameter isKernels: true if the kernel has called our handler, which then returns to it.
  @_noLocks
  func end(_ signal: DeliveredSignal, isKernels: Bool) {
    capture.shared.ending.store(CrashEnd.ends)
    // Before the mask in the context is another.
    let isForced = BlockedSignal(capture).isForced(signal)
    if isKernels { LateEnd(capture).prepare(signal.context) }
    passOn(signal, isForced: isForced)
  }

  /// Makes the calling thread the one that captures, once no other does.
  ///
  /// A thread that crashes while another captures waits. If the process lives on, its own crash is
  /// the next; if not, it waits until the process is gone.
  ///
  /// - Returns: false if the other one is not done within `Installed.patience`.
  @_noLocks
  func becomeOwner(_ threadID: Int32, context: SignalContext?) -> Bool {
    let waiting = capture.shared.waiting
    var bound = WaitingBound(capture)
    while true {
      let turn = capture.shared.turn.value
      let owner = capture.shared.capturingThread.exchange(
        expected: 0, desired: UInt32(bitPattern: threadID))
      if owner == 0 {
        if bound.isBegun { waiting.remove(threadID) }
        return true
      }
      if bound.isOver {
        waiting.remove(threadID)
        return false
      }
      if !bound.isBegun {
        let isKnown = waiting.add(threadID, context: context)
        if isKnown, capture.shared.stops.parking.value != 0 { capture.shared.stops.noteStop() }
        bound.begin()
      }
      if capture.shared.ending.value == CrashEnd.endsLater {
        StandIn(capture).stay(context, while: capture.shared.ending, is: CrashEnd.endsLater)
        continue
      }
      while capture.shared.turn.value == turn && !bound.isOver {
        capture.shared.turn.wait(while: turn, milliseconds: WaitingBound.milliseconds)
        bound.add()
      }
    }
  }

  /// Wakes the threads that wait for the capturing one.
  @_noLocks
  func wakeWaiting() {
    capture.shared.turn.add(1)
    capture.shared.turn.wakeAll()
  }

  /// The fate of the process after the dump.
  ///
  /// - Parameters:
  ///   - isKernels: true if the kernel has called our handler.
  ///   - isForced: as `BlockedSignal` says.
  @_noLocks
  func fate(_ signal: DeliveredSignal, isKernels: Bool, isForced: Bool) -> CrashFate {
    if !isForced, capture.shared.previousActions[signal.number].handler > SIG_IGN {
      return .handled
    }
    if FirstProcess(capture).discards(signal) { return .discarded }
    return isKernels ? .ends : .delegated
  }

  /// Restores the previous action of the signal and makes it happen again, with its own siginfo,
  /// when this handler returns, or the one that called it does.
  ///
  /// The other signals stay ours: a thread that crashes by one of them before the process has ended
  /// waits, and does not end it by that.
  @_noLocks
  func passOn(_ signal: DeliveredSignal) {
    passOn(signal, isForced: BlockedSignal(capture).isForced(signal))
  }

  /// - Parameter isForced: true where the default action follows, whatever the previous one is.
  private func passOn(_ signal: DeliveredSignal, isForced: Bool) {
    let number = signal.number
    // While our handlers are in: where process_vm_readv is denied, the look is a load that may fault.
    let faultsAgain = recurs(number, code: signal.code) && !isMended(signal)
    if isForced {
      SignalAction.set(number, pm_signal_action())
    } else {
      restore(number)
    }
    // Returning executes the faulting instruction again; the kernel then sees the fault itself, as
    // without us.
    if faultsAgain {
      // It came back to us: rt_sigaction is kept from us. A fault whose signal is blocked gets the
      // default action from the kernel. Source: Linux kernel/signal.c, force_sig_info_to_task.
      if capture.shared.timesReturned > 2 { signal.context?.block(number) }
      return
    }
    if capture.shared.timesReturned > 8 { _ = pm_exit_group(128 &+ number) }
    let first = FirstProcess(capture)
    if first.mustBeEnded(by: signal) {
      if first.rewind(signal) { return }
      _ = pm_exit_group(128 &+ number)
    }
    // Blocked first, so that it is delivered at the return from this handler, with the registers of
    // the crash.
    SignalMask.block(SignalMask.bit(number))
    let answer = pm_getpid()
    let process = answer < 0 ? capture.shared.process.id : answer
    let thread = pm_gettid()
    if let information = signal.information,
      information.queue(number, for: thread, of: process)
    {
      return
    }
    // A kernel or a seccomp profile without rt_tgsigqueueinfo: the siginfo is lost, the signal is
    // not.
    if pm_tgkill(process, thread, number) == 0 { return }
    if pm_kill(process, number) == 0 { return }
    _ = pm_exit_group(128 &+ number)
  }

  /// Does what the default action stands for, as far as a function can that another handler has
  /// called: the action is put back, and the crash happens again when that handler returns.
  ///
  /// abort() goes on by itself.
  @_noLocks
  func delegate(_ signal: DeliveredSignal) {
    if AbortCall(capture).isUnderWay(signal) {
      restore(signal.number)
    } else {
      passOn(signal)
    }
  }

  /// Puts the action back that a signal had before ours.
  private func restore(_ number: Int32) {
    var attempts = 0
    while attempts < 3 {
      if capture.shared.previousActions.restore(number) { return }
      attempts &+= 1
    }
  }

  /// True for faults that the same instruction raises again.
  ///
  /// A fault is known by its code: positive, and one the hardware sets. Not SI_KERNEL: a breakpoint
  /// has it and does not recur. A memory error reported late (BUS_MCEERR_AO) does not either.
  private func recurs(_ signal: Int32, code: Int32) -> Bool {
    switch signal {
    case SIGSEGV: code >= 1 && code <= SEGV_PKUERR
    case SIGBUS: code >= 1 && code <= BUS_MCEERR_AR
    case SIGFPE, SIGILL: code >= 1 && code <= 15
    case SIGTRAP: breakpointRecurs && code == TRAP_BRKPT
    default: false
    }
  }

  /// True where the memory that was not there is there now: another thread has mapped it meanwhile,
  /// or a first-chance handler, and running the instruction again would go on.
  private func isMended(_ signal: DeliveredSignal) -> Bool {
    // Only at the end of the crash that was captured.
    guard
      signal.number == SIGSEGV && signal.code == SEGV_MAPERR
        || signal.number == SIGBUS && signal.code == BUS_ADRERR,
      let information = signal.information,
      capture.shared.ending.value != 0,
      capture.shared.capturingThread.value == UInt32(bitPattern: pm_gettid())
    else { return false }
    return capture.memory.isReadable(information.faultAddress)
  }

  /// An arm64 thread stands at its breakpoint, an x86 one behind it.
  private var breakpointRecurs: Bool {
    #if arch(arm64)
      true
    #else
      false
    #endif
  }
}

/// The fate of a process after a dump.
///
/// RUNS-DURING-CRASH.
enum CrashFate {
  /// The default action ends it.
  case ends
  /// A handler that was there before ours runs; whether the process lives is up to that.
  case handled
  /// The kernel would have discarded the signal: it was sent to the first process of a PID
  /// namespace.
  case discarded
  /// A handler that was installed after ours has called it: the default action stands behind ours,
  /// and follows if that handler goes back to the crash.
  case delegated

  /// As a dump says it.
  var outcome: UInt64 {
    @_noLocks get {
      switch self {
      case .ends: SurvivalOutcome.endedCode
      case .handled, .delegated: SurvivalOutcome.previousHandlerRan.code
      case .discarded: SurvivalOutcome.discarded.code
      }
    }
  }

  var isEnd: Bool {
    @_noLocks get {
      if case .ends = self { true } else { false }
    }
  }

}

/// Ends a process that lives on after its end: the faulting instruction ran again and its fault did
/// not come again, because another thread has changed a mapping meanwhile.
///
/// All other threads stand still then; without this the process would stand for ever, or go on with
/// one thread where the kernel would have ended it. Seen with 64 threads that map, unmap and read
/// pages at once.
///
/// RUNS-DURING-CRASH.
@safe
struct LateEnd {
  /// In milliseconds: long enough for a loaded machine to run one instruction.
  private static var time: Int { 1000 }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Starts the watchdog's timer once more, whose signal the thread takes also behind the handler.
  ///
  /// Only where the kernel has called the handler, so that its return is the end. Another handler
  /// that called ours goes on for as long as it likes.
  ///
  /// A core file that takes longer is written all the same: the kernel keeps every signal but KILL
  /// from a process that dumps core. Source: Linux kernel/signal.c, prepare_signal.
  @_noLocks
  func prepare(_ context: SignalContext?) {
    if capture.installed.signals.watchdog != 0 {
      context?.unblock(capture.installed.signals.watchdog)
    }
    armOnce(capture, milliseconds: LateEnd.time)
  }

  /// Ends the process by the signal of its crash.
  @_noLocks
  func end() {
    let signal = capture.session.exception.signal.number
    SignalAction.set(signal, pm_signal_action())
    SignalMask.unblock(SignalMask.bit(signal))
    if capture.mayMake(CallBit.threads) {
      _ = pm_tgkill(capture.shared.process.id, pm_gettid(), signal)
    } else {
      _ = pm_kill(capture.shared.process.id, signal)
    }
    // The first process of a PID namespace: the kernel discards the default action.
    _ = pm_exit_group(128 &+ signal)
  }
}
