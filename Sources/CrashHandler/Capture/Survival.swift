internal import CSignalSafe
internal import IntermediateDump

/// What this process has survived: which crashes get a dump, and what dumps say of it.
///
/// A dump is finished before anybody can know whether the process lives on. So it says "a previous
/// handler runs now", in one byte whose place is remembered, and the first sign of life that leaves
/// no doubt writes "and the process went on" over it, if the file is still there.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct Survival {
  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  // MARK: - Which crashes get a dump

  /// False for a crash that is known already, and for one too many.
  @_noLocks
  func needsDump() -> Bool {
    let fault = unsafe FaultIdentity(state)
    let faults = unsafe state.pointee.knownFaults
    let isRepeated = faults.isRepetition(fault)
    unsafe state.pointee.isRepetition = isRepeated
    unsafe state.pointee.faultNumber = faults.add(fault)
    let fate = unsafe state.pointee.fate
    if fate == .ends {
      guard isLastResortOfAbort() else { return true }
      mark(CrashFate.ended)
      return false
    }
    if isRepeated { return false }
    return unsafe Int(state.pointee.survivedCrashes) < state.pointee.limits.survivedCrashes
  }

  /// True where abort(), whose signal the kernel discarded, ends the first process of a PID
  /// namespace by an instruction that faults.
  ///
  /// Source: glibc stdlib/abort.c, ABORT_INSTRUCTION.
  @_noLocks
  private func isLastResortOfAbort() -> Bool {
    guard unsafe state.pointee.threadID == state.pointee.abortingThread,
      let context = unsafe state.pointee.context
    else { return false }
    #if arch(arm64)
      let (signal, instruction, size): (Int32, UInt32, Int) = (5, 0xD420_7D00, 4)  // brk 1000
    #else
      let (signal, instruction, size): (Int32, UInt32, Int) = (11, 0xF4, 1)  // hlt
    #endif
    guard unsafe state.pointee.signal == signal else { return false }
    var found: UInt32 = 0
    let address = unsafe pm_context_instruction_pointer(context)
    return unsafe state.pointee.memory.copy(address, to: &found, count: size) == size
      && found == instruction
  }

  // MARK: - What dumps say

  /// Writes the survival map, if there is anything to say.
  @_noLocks
  func write() {
    let fate = unsafe state.pointee.fate
    let hasPreceding = unsafe state.pointee.survivedCrashes > 0
    let isBacktraced = unsafe state.pointee.isBacktraced
    guard fate != .ends || hasPreceding || isBacktraced else { return }
    if hasPreceding, isEarlierCrashOver() { markWentOn() }
    unsafe state.pointee.writer.startMap(.survival)
    if fate != .ends {
      unsafe state.pointee.writer.unsigned(.survivalOutcome, fate.outcome, width: 1)
      unsafe state.pointee.outcomeOffset = Int64(
        truncatingIfNeeded: state.pointee.writer.size &- 1)
    }
    if fate == .handled || isBacktraced {
      let action = unsafe state.pointee.previousActions[Int(state.pointee.signal)]
      unsafe state.pointee.writer.unsigned(.previousHandler, action.handler)
    }
    if hasPreceding {
      unsafe state.pointee.writer.unsigned(
        .survivedCrashes, UInt64(state.pointee.survivedCrashes), width: 4)
      unsafe state.pointee.writer.property(
        .precedingReport, state.pointee.precedingReport, count: 16)
    }
    unsafe state.pointee.writer.end()
  }

  /// Makes this crash the preceding one, its names and its place included; nothing if it left no
  /// dump.
  @_noLocks
  func remember() {
    guard unsafe state.pointee.outcomeOffset > 0 else { return }
    unsafe state.pointee.survivedCrashes &+= 1
    unsafe state.pointee.precedingOutcomeOffset = state.pointee.outcomeOffset
    // Of a signal that the kernel discards it is known from the start that the process goes on.
    unsafe state.pointee.isPrecedingOpen = state.pointee.fate != .discarded
    unsafe state.pointee.precedingThread = state.pointee.threadID
    unsafe state.pointee.previousHandlerReturned = false
    unsafe state.pointee.abortingThread = mayBeAbortOfFirstProcess ? state.pointee.threadID : 0
    unsafe pm_copy_bytes(state.pointee.precedingReport, state.pointee.reportID, 16)
    unsafe pm_copy_bytes(
      state.pointee.precedingName, state.pointee.finishedName,
      state.pointee.reportIDOffset &+ ReportName.textLength)
  }

  /// Says in the dump of a crash that the process went on, if that is still the last one and no
  /// thread captures.
  @_noLocks
  func markIfFree(_ crash: UInt32) {
    let thread = pm_gettid()
    guard
      unsafe state.pointee.owner.exchange(expected: 0, desired: UInt32(bitPattern: thread)) == 0
    else { return }
    if unsafe state.pointee.survivedCrashes == crash { markWentOn() }
    unsafe state.pointee.owner.store(0)
    unsafe CrashEnd(state).wakeWaiting()
  }

  /// Notes that the previous handler of the crash just remembered has returned; on the thread that
  /// captures still.
  @_noLocks
  func markReturned(_ information: UnsafeMutableRawPointer?) {
    unsafe state.pointee.previousHandlerReturned = true
    let signal = unsafe state.pointee.signal
    guard let information = unsafe information,
      unsafe CrashEnd.wasSent(signal, code: pm_siginfo_code(information)),
      // abort() goes on to end the process.
      unsafe signal != 6 || pm_siginfo_sender(information) != state.pointee.processID
    else { return }
    markWentOn()
  }

  /// True for a signal that abort() may have raised: it goes on when the kernel has discarded that,
  /// or the signal's handler has returned, and the kernel discards its second one too.
  private var mayBeAbortOfFirstProcess: Bool {
    @_noLocks get {
      guard unsafe state.pointee.signal == 6 && state.pointee.processID == 1,
        let information = unsafe state.pointee.information
      else { return false }
      return unsafe pm_siginfo_sender(information) == 1
    }
  }

  /// True if the previous handler of the earlier crash is known to have been left: it returned, or
  /// its thread runs elsewhere than in a signal handler.
  ///
  /// A thread that crashed while another one's previous handler ran proves nothing.
  @_noLocks
  private func isEarlierCrashOver() -> Bool {
    if unsafe state.pointee.previousHandlerReturned { return true }
    guard unsafe state.pointee.threadID == state.pointee.precedingThread,
      let context = unsafe state.pointee.context,
      unsafe pm_context_signal_stack(context).pointee.size > 0
    else { return false }
    return unsafe pm_context_is_on_signal_stack(context) == 0
  }

  /// Says in the preceding dump that the process went on, if that is not said yet.
  @_noLocks
  func markWentOn() {
    if unsafe state.pointee.isPrecedingOpen { mark(CrashFate.wentOn) }
  }

  /// Writes the byte over that of the preceding dump; a report that was made of it already is not
  /// changed.
  @_noLocks
  private func mark(_ outcome: UInt8) {
    let offset = unsafe state.pointee.precedingOutcomeOffset
    guard offset > 0 else { return }
    let descriptor = unsafe DumpFile(state).openAgain(state.pointee.precedingName)
    guard descriptor >= 0 else { return }
    var outcome = outcome
    _ = unsafe pm_pwrite(descriptor, &outcome, 1, offset)
    _ = pm_close(descriptor)
  }
}
