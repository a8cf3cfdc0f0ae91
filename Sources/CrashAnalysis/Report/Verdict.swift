internal import IntermediateDump
package import ProcessSnapshot
package import Stackwalk

/// What a crash, a hang, a requested dump or the end of a run is: the result of the analysis of its snapshot.
///
/// The text, page and JSON of a report, lists, exports and uploads all show the values of a verdict.
package struct Verdict: Sendable {
  /// The signal's name; nil if nothing crashed, or if a truncated dump lacks the signal.
  package var signal: String?
  /// The cause of the crash or, in a dump without a crash, the deadlock; nil if the dump shows neither.
  package var cause: Finding?
  /// A word for the cause or, for a run that left no dump, for how the run ended.
  package var kind: String? { end ?? cause?.kind }
  /// The message with which the process ended or, for a dump without a crash, the program's reason or its error.
  ///
  /// After a crash, the message comes from the Swift runtime or the C library. If there is no such message, `message`
  /// is the type and the text of an uncaught C++ exception.
  package var message: String?
  /// Messages of the runtimes that the crashing thread may have written earlier, or that other threads may have
  /// written.
  package var otherMessages: [String]
  /// A line of text that is meant to be the same for all crashes with the same cause; the rules are in
  /// `Docs/Reference/Signatures.md`.
  package var signature: String?
  /// The innermost call of the program's own code on the crashing or hanging thread, with file and line if they are
  /// known.
  ///
  /// For an uncaught error, the call may be the one that threw the error.
  ///
  /// For a deadlock in a requested dump, `place` is where the first thread or task of the deadlock waits.
  ///
  /// If no call is in the program's own code, `place` is the innermost call without a name, as file and offset, or else
  /// the innermost call of a dependency.
  package var place: String?
  /// The thread that the verdict is about: the one that received the signal, the hung one, or the one that took the
  /// dump; nil if it is not known.
  package let threadID: UInt32?
  /// The stack of the thread that the verdict is about; empty if it was not captured.
  package let trace: StackTrace
  /// The throw of the uncaught Swift error; nil if the crash has another cause, or throws were not recorded.
  package var thrown: ThrownError?
  /// The hung thread, as far as it is known; nil for a report that is not about a hang.
  package var hang: HangSubject?
  /// In a dump without a crash, the threads that wait, and what each of them waits for.
  package let waits: Waits
  /// In a dump without a crash, the cycles of tasks that wait for each other.
  package let taskDeadlocks: [TaskDeadlock]
  /// Distinguishes the program's own frames from others.
  ///
  /// Source files were looked for in the frames of the thread that the verdict is about, of the task that it ran and
  /// of the uncaught error's throw; and in a dump without a crash, of all threads and tasks that may explain it.
  package let ownCode: OwnCode
  /// The stack or the task from which place and signature were taken.
  package let placeSource: ReportPlace
  private let end: String?

  /// The maximum numbers of frames in `ownFrames` and in `stack`.
  private static let frameCount = (own: 5, all: 12)

  /// The innermost calls of the program's own code, each with file and line if they are known.
  package var ownFrames: [String] {
    Array(
      trace.frames.lazy.filter(ownCode.isEmphasized).map(ownCode.line).prefix(Self.frameCount.own))
  }

  /// The innermost calls of the crashing or hung thread, in the same form as `ownFrames`.
  package var stack: [String] { trace.frames.prefix(Self.frameCount.all).map(ownCode.line) }

  /// Analyzes a snapshot with the function names that are stored in it.
  package init(of snapshot: ProcessSnapshot) {
    self.init(
      of: snapshot,
      symbols: SymbolSource(directories: [], stored: snapshot.storedSymbols, readsFiles: false))
  }

  /// Analyzes a snapshot; for a crash, only the crashing thread's stack is walked.
  ///
  /// - Parameter symbols: the source of the symbols; it may have been used for other reports before.
  package init(of snapshot: ProcessSnapshot, symbols: SymbolSource) {
    symbols.begin(stored: snapshot.storedSymbols)
    self.init(of: ProcessStacks(of: snapshot, symbols: symbols))
  }

  /// Analyzes a snapshot.
  ///
  /// - Parameter stacks: the stacks of the snapshot's threads and tasks.
  package init(of stacks: ProcessStacks) {
    let snapshot = stacks.snapshot
    let request = snapshot.request
    let waiting = request.map { _ in WaitingThreads(in: stacks) }
    hang = waiting?.hang
    waits = waiting?.waits ?? Waits()
    threadID =
      waiting?.hang.map(\.threadID) ?? waiting?.waits.shownThread(for: request)
      ?? snapshot.exception?.threadID
    let id = threadID
    trace = snapshot.threads.first { $0.id == id }.map(stacks.trace) ?? StackTrace()
    let interrupted =
      request == nil
      ? InterruptedFault(of: snapshot, trace: trace, symbols: stacks.symbols) : nil
    let faultTrace = interrupted?.trace ?? trace
    let finder = CauseFinder(
      of: interrupted?.snapshot ?? snapshot, trace: faultTrace, symbols: stacks.symbols)
    var finding = finder.finding
    if let interrupted {
      finding?.evidence.append(.handledFirst(interrupted.handler))
      if !interrupted.isRecorded { finding?.certainty = .likely }
    }
    message = request?.headline ?? finder.message
    otherMessages = request == nil ? finder.otherMessages : []
    thrown = ThrownError(finding, trace: faultTrace, in: stacks)
    let thrownFrames = thrown?.frames ?? []
    ownCode =
      waiting?.ownCode
      ?? OwnCode(
        of: snapshot,
        frames: trace.frames + (trace.asyncCalls?.frames ?? []) + thrownFrames)
    taskDeadlocks = waiting.flatMap { $0.tasks?.deadlocks($0.ownCode) } ?? []
    let tasks = taskDeadlocks.cause(of: snapshot, hang, waits)
    signal = request == nil ? snapshot.exception?.signal.map(SignalNames.text) : nil
    end = snapshot.end?.word
    cause =
      request != nil
      ? waits.deadlock(of: snapshot, hang)?.finding ?? tasks?.finding : end == nil ? finding : nil
    placeSource = ReportPlace(of: snapshot, hang, cause, tasks, waits)
    func stack(of id: UInt32) -> [StackFrame] {
      snapshot.threads.first { $0.id == id }.map(stacks.innermostFrames) ?? []
    }
    signature = Signature.text(
      of: snapshot, trace: faultTrace, request == nil ? finding : cause, thrown: thrownFrames,
      hang: hang, from: placeSource, ownCode: ownCode, stack: stack)
    place = placeSource.text(
      own: ownCode.crashPlace(in: faultTrace.frames, thrown: thrownFrames), ownCode, stack: stack)
    if let stored = snapshot.storedVerdict { adopt(stored, of: snapshot) }
  }
}

// MARK: - The stored verdict

extension Verdict {
  /// The values that a conversion stores in the report.
  package var stored: StoredVerdict {
    var stored = StoredVerdict()
    (stored.cause, stored.certainty) = (cause?.kind, cause?.certainty)
    (stored.message, stored.signature, stored.place) = (message, signature, place)
    return stored
  }

  /// Replaces values that this analysis found with those that the conversion found.
  ///
  /// A place stays if it shows more than the stored one. In a report whose texts were removed, a text that can be
  /// found without them replaces the stored one.
  private mutating func adopt(_ stored: StoredVerdict, of snapshot: ProcessSnapshot) {
    let isReduced = (snapshot.process.privacy ?? .full) > .full
    cause = stored.cause.flatMap { Finding(recorded: $0, stored.certainty, found: cause) }
    message = stored.message ?? (isReduced ? message : nil)
    signature = stored.signature ?? (isReduced ? signature : nil)
    if PlaceDetail(of: place) <= PlaceDetail(of: stored.place) { place = stored.place }
  }
}

/// How much a place shows.
private enum PlaceDetail: Comparable {
  case nothing, offset, name, line

  init(of place: String?) {
    self =
      switch place {
      case nil: .nothing
      case let place? where place.contains(" at "): .line
      case let place? where place.contains("+0x"): .offset
      default: .name
      }
  }
}

extension Finding {
  /// The cause that a conversion found; nil if `word` cannot be the word for a cause.
  ///
  /// - Parameter found: the cause that this reader found, whose evidence is used if it is the same cause.
  fileprivate init?(recorded word: String, _ certainty: Certainty?, found: Finding?) {
    guard !word.isEmpty, word.utf8.count <= 64,
      word.utf8.allSatisfy({
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 || $0 == UInt8(ascii: "-")
      })
    else { return nil }
    self =
      if let found, found.kind == word { found } else {
        Finding(cause: .recorded(word), evidence: [])
      }
    self.certainty = certainty ?? self.certainty
  }
}

/// In a dump without a crash, the threads that wait, and the tasks that may wait for each other.
private struct WaitingThreads {
  let ownCode: OwnCode
  let waits: Waits
  let hang: HangSubject?
  /// The tasks; nil if none of them wait for each other, so that their functions need not be looked up.
  let tasks: TaskOverview?

  init(in stacks: ProcessStacks) {
    let snapshot = stacks.snapshot
    tasks = snapshot.allTasks.flatMap { $0.cycles.isEmpty ? nil : stacks.tasks }
    let threads = snapshot.threads.map { (thread: $0, frames: stacks.innermostFrames(of: $0)) }
    ownCode = OwnCode(
      of: snapshot, frames: threads.flatMap(\.frames) + (tasks?.frames ?? []))
    waits = Waits(in: snapshot, threads, ownCode)
    hang = HangSubject(
      of: snapshot,
      threads.map {
        HangSubject.Candidate(id: $0.thread.id, name: $0.thread.name, frames: $0.frames)
      }, ownCode, waits)
  }
}
