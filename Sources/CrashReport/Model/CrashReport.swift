package import IntermediateDump
package import ProcessSnapshot
package import Stackwalk

/// A crash report, which consists of the snapshot and the results of its analysis.
///
/// Text, HTML and JSON are three formats of this one structure. The facts of the dump are only in `snapshot`. The
/// other properties contain the results of the stack walk and the analysis, and `excerpts` lines of source code.
package struct CrashReport: Sendable {
  package var snapshot: ProcessSnapshot
  /// The threads, the crashing thread first.
  package var threads: [Thread]
  /// For each of the snapshot's modules, the reason why names of its frames are missing or uncertain; nil if there is
  /// no such reason.
  package var symbolNotes: [String?]
  /// The message with which the process ended or, for a dump without a crash, the program's reason or its error.
  ///
  /// After a crash, the message comes from the Swift runtime or the C library. If there is no such message, `message`
  /// is the type and the text of an uncaught C++ exception.
  package var message: String?
  /// Messages of the runtimes that the crashing thread may have written earlier, or that other threads may have
  /// written.
  package var otherMessages: [String]
  /// The cause of the crash or, in a dump without a crash, the deadlock; nil if the dump shows neither.
  package var cause: Finding?
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
  /// The hung thread, as far as it is known; nil for a report that is not about a hang.
  package var hang: HangSubject?
  /// The threads that wait, and what each of them waits for.
  package var waits: Waits
  /// The tasks of Swift concurrency, whether or not a thread ran them; nil if the memory was not searched for tasks.
  package var allTasks: TaskOverview?
  /// The cycles of tasks that wait for each other.
  package var taskDeadlocks: [TaskDeadlock]
  /// The throw of the uncaught Swift error; nil if the crash has another cause, or throws were not recorded.
  package var thrown: Thrown?
  /// The words in the crashed thread's registers and stack that point to objects or have a known pattern.
  package var words: [NotedWord] = []
  /// Sentences about objects that are evidence for the cause: an object to which a register of the crashed thread
  /// points, or whose address is in the message.
  package var objectSentences: [String] = []
  /// Lines of source code around the source locations of the crashing thread's frames, if the source files were read.
  package var excerpts: [SourceLocation: SourceExcerpt] = [:]

  /// The throw of an error, with the call stack at that time.
  package struct Thrown: Sendable, Equatable {
    package var record: ThrowSnapshot
    /// The frames of the throwing thread, innermost first.
    package var frames: [StackFrame]

    package init(record: ThrowSnapshot, frames: [StackFrame]) {
      (self.record, self.frames) = (record, frames)
    }

    /// The runtime's functions that end a process because of an error.
    ///
    /// A sanitized dump contains no message, so only these functions on the stack show that an error ended the process.
    private static let endings: Set = ["swift_errorInMain", "swift_unexpectedError"]

    /// - Parameter trace: the stack of the crashing thread.
    /// - Returns: nil if no Swift error ended the process, or if the snapshot contains no throw.
    init?(
      in snapshot: ProcessSnapshot, _ finding: Finding?, trace: StackTrace, walker: Stackwalker
    ) {
      guard let record = snapshot.lastThrow,
        finding?.kind == SwiftFailure.uncaughtError.rawValue
          || trace.frames.prefix(8).contains(where: { frame in
            frame.symbol.map { Self.endings.contains($0.linkageName) } ?? false
          })
      else { return nil }
      self.record = record
      frames = walker.frames(of: record)
    }
  }

  /// The maximum numbers of innermost frames (`head`) and outermost frames (`tail`) that are kept of a deep stack.
  static let keptFrames = (head: 200, tail: 56)

  /// Makes a report from a snapshot of a process.
  ///
  /// - Parameters:
  ///   - snapshot: the snapshot, for example from a minidump or a core file.
  ///   - privacy: the privacy of the report, if it is stricter than that of the snapshot.
  ///   - symbolicating: true to read functions and lines from the modules' files on this machine. If false, the report
  ///     contains only the names that were stored at conversion. Frames that can only be found by reading code are then
  ///     missing.
  ///   - prefersStored: true to read files only for frames that were not named at conversion.
  ///   - symbolDirectories: directories to search for more files of the same builds, by build ID and by name.
  ///   - symbolStore: keeps the found names, so that later processes can use them; nil to keep none.
  package init(
    snapshot: ProcessSnapshot, privacy: ReportPrivacy = .full, symbolicating: Bool,
    prefersStored: Bool = false, symbolDirectories: [String] = [],
    symbolStore: (any SymbolStore)? = nil
  ) {
    let symbols = SymbolSource(
      directories: symbolDirectories, stored: snapshot.storedSymbols, readsFiles: symbolicating,
      store: symbolStore, prefersStored: prefersStored)
    defer { symbols.saveCache() }
    let snapshot = privacy == .full ? snapshot : snapshot.keeping(privacy, symbols: symbols)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let tasks = Dictionary(
      snapshot.tasks.map { ($0.threadID, $0) }, uniquingKeysWith: { first, _ in first })
    let contexts = snapshot.client.contextsByThread
    let threads = snapshot.threads.map { thread in
      let task = tasks[thread.id]
      let trace = walker.trace(
        of: thread, head: Self.keptFrames.head, tail: Self.keptFrames.tail, runsTask: task != nil)
      return Thread(
        snapshot: thread, crashed: thread.id == snapshot.exception?.threadID, trace: trace,
        task: task.map { Task($0, trace.asyncCalls, in: snapshot) },
        contexts: contexts[thread.id] ?? [])
    }
    self.init(snapshot: snapshot, threads: threads, symbols: symbols, walker: walker)
  }

  init(
    snapshot: ProcessSnapshot, threads: [Thread], symbols: SymbolSource, walker: Stackwalker
  ) {
    self.threads = threads
    self.snapshot = snapshot
    let works = snapshot.allTasks == nil ? nil : snapshot.client.openContexts?.works
    let tasks = snapshot.allTasks.map { TaskOverview($0, walker, works: works ?? []) }
    let code = OwnCode(
      of: snapshot, frames: threads.flatMap(\.frames) + (tasks?.frames ?? []))
    allTasks = tasks
    let waits = Waits(in: snapshot, threads.map { ($0.snapshot, $0.frames) }, code)
    self.waits = waits
    let hang = HangSubject(
      of: snapshot,
      threads.map { HangSubject.Candidate(id: $0.id, name: $0.name, frames: $0.frames) },
      code, waits)
    self.hang = hang
    if let hang {
      for index in threads.indices {
        self.threads[index].crashed = threads[index].id == hang.threadID
      }
    }
    if let index = self.threads.firstIndex(where: \.crashed), index > 0 {
      self.threads.insert(self.threads.remove(at: index), at: 0)
    }
    symbolNotes = snapshot.modules.map { symbols.note(on: $0) }
    let finder = CauseFinder(of: snapshot, trace: self.threads.first { $0.crashed }?.trace)
    message = snapshot.request?.headline ?? finder.message
    otherMessages = snapshot.request == nil ? finder.otherMessages : []
    let finding = finder.finding
    let deadlocks = tasks?.deadlocks(code) ?? []
    taskDeadlocks = deadlocks
    let deadlock = deadlocks.cause(of: snapshot, hang, waits)
    cause =
      snapshot.request != nil
      ? waits.deadlock(of: snapshot, hang)?.finding ?? deadlock?.finding
      : snapshot.end == nil ? finding : nil
    thrown = Thrown(in: snapshot, finding, trace: finder.trace, walker: walker)
    noteWords(symbols)
    let frames = thrown?.frames ?? []
    let ownCode = ownCode
    signature = Signature.text(
      of: snapshot, trace: finder.trace, finding, thrown: frames, hang: hang, tasks: deadlock,
      ownCode: ownCode)
    place = ReportPlace(of: snapshot, hang, cause, deadlock).text(
      own: ownCode.crashPlace(in: finder.trace.frames, thrown: frames), ownCode
    ) { id in threads.first { $0.id == id }?.frames ?? [] }
  }
}

extension CrashReport {
  /// The time from a breadcrumb to the crash in nanoseconds, measured with CLOCK_BOOTTIME.
  package func age(of breadcrumb: ClientInformation.Breadcrumb) -> UInt64? {
    breadcrumb.uptime.flatMap(age(since:))
  }

  /// The time from a throw to the crash, in nanoseconds.
  package func age(of thrown: Thrown) -> UInt64? { age(since: thrown.record.uptime) }

  /// The time from an event to the crash, in nanoseconds; nil if the event was later or the time of the crash is not
  /// known.
  func age(since uptime: UInt64) -> UInt64? { snapshot.process.age(since: uptime) }

  /// True if all bytes of a range that the program registered are in the dump.
  package func isCaptured(_ range: ClientInformation.ExtraMemoryRange) -> Bool {
    guard let count = Int(exactly: range.size) else { return false }
    return snapshot.memory.bytes(at: range.address, count: count) != nil
  }
}
