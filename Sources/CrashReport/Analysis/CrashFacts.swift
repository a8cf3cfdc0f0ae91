internal import IntermediateDump
package import ProcessSnapshot
package import Stackwalk

/// The main facts of a report, found without making the whole report, which takes longer.
///
/// The converter, the uploader, and subcommands such as `postmortem list` use these facts. For a crash, only the
/// crashing thread's stack is walked. Files of modules are read only if the caller passes a symbol source that reads
/// them.
package struct CrashFacts: Sendable {
  /// The signal's name; nil if nothing crashed, or if a truncated dump lacks the signal.
  package let signal: String?
  /// A word for the cause of the crash, for the deadlock in a dump without a crash, or for how a run without a dump
  /// ended.
  package let cause: String?
  package let message: String?
  package let signature: String?
  /// The innermost call of the program's own code, with file and line if they are known.
  ///
  /// If there is no such call, `place` is the innermost call without a name, as file and offset, or else the
  /// innermost call of a dependency.
  package let place: String?
  /// The innermost calls of the program's own code, each with file and line if they are known.
  package let ownFrames: [String]
  /// The innermost calls of the crashing or hung thread, in the same form as `ownFrames`.
  package let stack: [String]

  /// The maximum numbers of frames in `ownFrames` and in `stack`.
  private static let frameCount = (own: 5, all: 12)

  /// Analyzes a snapshot with the function names that are stored in it.
  package init(of snapshot: ProcessSnapshot) {
    self.init(
      of: snapshot,
      symbols: SymbolSource(directories: [], stored: snapshot.storedSymbols, readsFiles: false))
  }

  /// Analyzes a snapshot.
  ///
  /// - Parameter symbols: the source of the symbols; it may have been used for other reports before.
  package init(of snapshot: ProcessSnapshot, symbols: SymbolSource) {
    symbols.begin(stored: snapshot.storedSymbols)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let (hang, waits) = Self.hang(in: snapshot, walker)
    let subject =
      hang.map { hang in snapshot.threads.first { $0.id == hang.threadID } }
      ?? snapshot.crashedThread
    let trace = subject.map {
      walker.trace(
        of: $0, head: CrashReport.keptFrames.head, tail: CrashReport.keptFrames.tail)
    }
    let finder = CauseFinder(of: snapshot, trace: trace)
    let finding = finder.finding
    message = snapshot.request?.headline ?? finder.message
    let thrown =
      CrashReport.Thrown(in: snapshot, finding, trace: finder.trace, walker: walker)?.frames ?? []
    let rules = OwnCode(of: snapshot, frames: finder.trace.frames + thrown)
    let tasks = Self.taskDeadlock(in: snapshot, hang, waits, walker)
    signature = Signature.text(
      of: snapshot, trace: finder.trace, finding, thrown: thrown, hang: hang, tasks: tasks,
      ownCode: rules)
    signal = snapshot.request == nil ? snapshot.exception?.signal.map(SignalNames.text) : nil
    let shown =
      snapshot.request == nil
      ? finding : waits.deadlock(of: snapshot, hang)?.finding ?? tasks?.finding
    cause = snapshot.end.map { $0.kind?.word ?? "unknown" } ?? shown?.kind
    place = ReportPlace(of: snapshot, hang, shown, tasks).text(
      own: rules.crashPlace(in: finder.trace.frames, thrown: thrown), rules
    ) { id in
      let thread = snapshot.threads.first { $0.id == id }
      return thread.map { walker.frames(of: $0, limit: StoredSymbols.hangFrames) } ?? []
    }
    let frames = finder.trace.frames
    let own = frames.lazy.filter(rules.standsOut).map(rules.line)
    ownFrames = Array(own.prefix(Self.frameCount.own))
    stack = frames.prefix(Self.frameCount.all).map(rules.line)
  }

  /// The deadlock of tasks that explains a dump without a crash; nil if there is none.
  private static func taskDeadlock(
    in snapshot: ProcessSnapshot, _ hang: HangSubject?, _ waits: Waits, _ walker: Stackwalker
  ) -> TaskDeadlock? {
    // The functions of the tasks are looked up only if they are needed.
    guard snapshot.request != nil, let found = snapshot.allTasks, !found.cycles.isEmpty else {
      return nil
    }
    let tasks = TaskOverview(found, walker)
    let ownCode = OwnCode(of: snapshot, frames: tasks.frames)
    return tasks.deadlocks(ownCode).cause(of: snapshot, hang, waits)
  }

  /// Finds the hanging thread and, if nothing crashed, which threads wait for which.
  ///
  /// The hanging thread is nil if the report is not about a hang.
  private static func hang(
    in snapshot: ProcessSnapshot, _ walker: Stackwalker
  ) -> (HangSubject?, Waits) {
    guard snapshot.request != nil else { return (nil, Waits()) }
    let threads = snapshot.threads.prefix(StoredSymbols.hangThreads).map { thread in
      (thread, walker.frames(of: thread, limit: StoredSymbols.hangFrames))
    }
    let ownCode = OwnCode(of: snapshot, frames: threads.flatMap(\.1))
    let waits = Waits(in: snapshot, threads, ownCode)
    let candidates = threads.map { HangSubject.Candidate(id: $0.id, name: $0.name, frames: $1) }
    return (HangSubject(of: snapshot, candidates, ownCode, waits), waits)
  }
}
