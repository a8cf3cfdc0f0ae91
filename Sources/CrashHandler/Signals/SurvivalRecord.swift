internal import CSignalSafe
internal import IntermediateDump

/// The crashes that this process has survived: decides which get a dump, and writes into dumps what
/// became of the process.
///
/// A dump is finished before it can be known whether the process lives on. So it says "a previous
/// handler runs now", in one byte whose place is remembered, and the first sign of life that leaves
/// no doubt writes "and the process went on" over it, if the file is still there.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct SurvivalRecord {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  // MARK: - Which crashes get a dump

  /// False for a crash that is known already, and for one too many.
  @_noLocks
  func needsDump() -> Bool {
    if endsEarlierCrash() {
      mark(SurvivalOutcome.endedByHandler.code)
      capture.shared.survived.isOpen = false
      return false
    }
    let fault = FaultIdentity(capture)
    let faults = capture.shared.knownFaults
    let isRepeated = faults.isRepetition(fault)
    capture.session.exception.isRepetition = isRepeated
    capture.session.exception.faultNumber = faults.add(fault)
    let fate = capture.session.exception.fate
    if fate.isEnd {
      guard FirstProcess(capture).isLastResortOfAbort() else { return true }
      mark(SurvivalOutcome.endedCode)
      return false
    }
    if isRepeated { return false }
    return Int(capture.shared.survived.count) < capture.installed.limits.survivedCrashes
  }

  /// True for a signal by which the previous handler of the crash just captured ends the process, as
  /// by abort(): it is no crash of its own.
  private func endsEarlierCrash() -> Bool {
    let exception = capture.session.exception
    guard capture.shared.survived.isOpen, !capture.shared.survived.handlerHasReturned,
      exception.threadID == capture.shared.survived.thread, exception.signal.wasSent,
      exception.signal.information?.sender == capture.shared.process.id,
      let context = exception.signal.context
    else { return false }
    // A thread that has left the handler by siglongjmp is not there.
    return context.isOnSignalStack
  }

  // MARK: - What dumps say

  /// Writes the survival map, if there is anything to say.
  @_noLocks
  func write() {
    let fate = capture.session.exception.fate
    let hasPreceding = capture.session.request.isCrash && capture.shared.survived.count > 0
    let isBacktraced = capture.session.exception.isBacktraced
    guard !fate.isEnd || hasPreceding || isBacktraced else { return }
    if hasPreceding, isEarlierCrashOver() { markWentOn() }
    capture.session.writer.startMap(.survival)
    if !fate.isEnd {
      capture.session.writer.unsigned(.survivalOutcome, fate.outcome, width: 1)
      capture.session.exception.outcomeOffset = Int64(
        truncatingIfNeeded: capture.session.writer.size &- 1)
    }
    var hasHandler = isBacktraced
    if case .handled = fate { hasHandler = true }
    if hasHandler {
      let action = capture.shared.previousActions[capture.session.exception.signal.number]
      capture.session.writer.unsigned(.previousHandler, action.handler)
    }
    if hasPreceding {
      capture.session.writer.unsigned(
        .survivedCrashes, UInt64(capture.shared.survived.count), width: 4)
      unsafe capture.session.writer.property(
        .precedingReport, capture.shared.survived.report, count: 16)
    }
    capture.session.writer.end()
  }

  /// Makes this crash the preceding one, its names and its place included; nothing if it left no
  /// dump.
  fileprivate func remember() {
    guard capture.session.exception.outcomeOffset > 0 else { return }
    capture.shared.survived.count &+= 1
    capture.shared.survived.outcomeOffset = capture.session.exception.outcomeOffset
    // Of a signal that the kernel discards it is known from the start that the process goes on.
    if case .discarded = capture.session.exception.fate {
      capture.shared.survived.isOpen = false
    } else {
      capture.shared.survived.isOpen = true
    }
    capture.shared.survived.thread = capture.session.exception.threadID
    capture.shared.survived.handlerHasReturned = false
    FirstProcess(capture).noteAbort()
    unsafe pm_copy_bytes(capture.shared.survived.report, capture.session.names.reportID, 16)
    unsafe pm_copy_bytes(
      capture.shared.survived.name, capture.session.names.finished,
      capture.session.names.reportIDOffset &+ ReportName.textLength)
  }

  /// Says in the dump of a crash that the process went on, if that is still the last one and no
  /// thread captures.
  @_noLocks
  func markIfFree(_ crash: UInt32) {
    // A signal that is sent now must not find this thread as the one that captures.
    let mask = SignalMask.block(~SignalMask.bit(SIGSYS))
    defer { if let mask { SignalMask.set(mask) } }
    let thread = pm_gettid()
    guard
      capture.shared.capturingThread.exchange(expected: 0, desired: UInt32(bitPattern: thread)) == 0
    else { return }
    if capture.shared.survived.count == crash { markWentOn() }
    capture.shared.capturingThread.store(0)
    CrashEnd(capture).wakeWaiting()
  }

  /// Notes that the previous handler of the crash just remembered has returned; on the thread that
  /// captures still.
  @_noLocks
  func markReturned(_ signal: DeliveredSignal) {
    capture.shared.survived.handlerHasReturned = true
    guard signal.wasSent, let information = signal.information,
      // abort() goes on to end the process.
      signal.number != SIGABRT || information.sender != capture.shared.process.id
    else { return }
    markWentOn()
  }

  /// True if the previous handler of the earlier crash is known to have been left: it returned, or
  /// its thread runs elsewhere than in a signal handler.
  ///
  /// A thread that crashed while another one's previous handler ran proves nothing.
  private func isEarlierCrashOver() -> Bool {
    if capture.shared.survived.handlerHasReturned { return true }
    guard capture.session.exception.threadID == capture.shared.survived.thread,
      let context = capture.session.exception.signal.context,
      context.signalStackSize > 0
    else { return false }
    return !context.isOnSignalStack
  }

  /// Says in the preceding dump that the process went on, if that is not said yet.
  fileprivate func markWentOn() {
    if capture.shared.survived.isOpen { mark(SurvivalOutcome.wentOn.code) }
  }

  /// Writes the byte over that of the preceding dump; a report that was made of it already is not
  /// changed.
  private func mark(_ outcome: UInt64) {
    let offset = capture.shared.survived.outcomeOffset
    guard offset > 0 else { return }
    let descriptor = unsafe DumpFile(capture).openAgain(capture.shared.survived.name)
    guard descriptor >= 0 else { return }
    var outcome = UInt8(truncatingIfNeeded: outcome)
    _ = unsafe pm_pwrite(descriptor, &outcome, 1, offset)
    _ = pm_close(descriptor)
  }
}

/// Makes the handler ready for another crash after a dump, because this one may be survived.
///
/// All of it before a previous handler is called: one that leaves by siglongjmp never comes back.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct Rearming {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Lets the threads go, forgets this crash, and opens a new locked file; its owner is still the
  /// calling thread.
  @_noLocks
  func rearm() {
    ThreadStopper(capture).releaseAll()
    SurvivalRecord(capture).remember()
    capture.session.runRecord.isFollowed = false
    DumpFile(capture).close()
    reset()
    guard capture.mayMake(CallBit.files) else {
      capture.session.files.isMissing = true
      return
    }
    takeSpares()
    let limit = FileSizeLimit(capture)
    if !DumpFile(capture).makeNew() { capture.session.files.isMissing = true }
    limit.restore()
  }

  /// Clears what belongs to one crash.
  @_noLocks
  func reset() {
    capture.session.landingPads.disarm()
    capture.session.threads.removeAll()
    capture.session.mappings.removeAll()
    capture.session.writer.restart(on: -1)
    capture.session.progress.abandoned = 0
    capture.session.counts.threadsReadFromKernel = 0
    capture.session.counts.threadsOmitted = 0
    capture.session.counts.smallStacks = 0
    capture.session.time.phase = .sections
    capture.session.time.isTicking = false
  }

  /// Holds three places in the descriptor table again, with the pending directory.
  private func takeSpares() {
    let directory = capture.session.files.directory.descriptor
    let first = capture.calls.hold(Int32(truncatingIfNeeded: pm_duplicate(directory)))
    let second = Int32(truncatingIfNeeded: pm_duplicate(directory))
    let third = Int32(truncatingIfNeeded: pm_duplicate(directory))
    capture.shared.spares = Shared.SpareDescriptors(
      first: first, second: HeldFile(second, identity: first.identity),
      third: HeldFile(third, identity: first.identity))
  }
}
