package import IntermediateDump
package import ProcessSnapshot
package import Stackwalk

/// A crash report, which consists of the snapshot and the results of its analysis.
///
/// Text, HTML and JSON are three formats of this one structure. The facts of the dump are only in `snapshot`. The
/// other properties contain the results of the stack walk and the analysis, and `excerpts` lines of source code.
@dynamicMemberLookup
package struct CrashReport: Sendable {
  package var snapshot: ProcessSnapshot
  /// The threads, the crashing thread first.
  package var threads: [ReportThread]
  /// For each of the snapshot's modules, the reason why names of its frames are missing or uncertain; nil if there is
  /// no such reason.
  package var symbolNotes: [String?]
  /// What the report is about, and what the analysis found.
  package var verdict: Verdict
  /// The threads that wait, and what each of them waits for.
  package var waits: Waits
  /// What keeps the process from continuing; nil for a report that is not about this.
  package var standstill: Standstill?
  /// The tasks of Swift concurrency, whether or not a thread ran them; nil if the memory was not searched for tasks.
  package var allTasks: TaskOverview?
  /// The cycles of tasks that wait for each other.
  package var taskDeadlocks: [TaskDeadlock]
  /// The words in the crashed thread's registers and stack that point to objects or have a known pattern.
  package var words: [NotedWord] = []
  /// An object that is evidence for the cause: one to which a register of the crashed thread points, or whose address is
  /// in the message.
  package var objectCause: ObjectCause?
  /// Lines of source code around the source locations of the crashing thread's frames, if the source files were read.
  package var excerpts: [SourceLocation: SourceExcerpt] = [:]

  package subscript<Value>(dynamicMember path: WritableKeyPath<Verdict, Value>) -> Value {
    get { verdict[keyPath: path] }
    set { verdict[keyPath: path] = newValue }
  }

  package subscript<Value>(dynamicMember path: KeyPath<Verdict, Value>) -> Value {
    verdict[keyPath: path]
  }

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
    self.init(of: ProcessStacks(of: snapshot, symbols: symbols))
  }

  package init(of stacks: ProcessStacks) {
    let snapshot = stacks.snapshot
    let tasks = Dictionary(
      snapshot.tasks.map { ($0.threadID, $0) }, uniquingKeysWith: { first, _ in first })
    let contexts = snapshot.client.contextsByThread
    // The stacks are walked before the verdict, which uses parts of them.
    let traces = snapshot.threads.map(stacks.trace)
    let verdict = Verdict(of: stacks)
    threads = zip(snapshot.threads, traces).map { thread, trace in
      ReportThread(
        snapshot: thread, crashed: thread.id == verdict.threadID, trace: trace,
        task: tasks[thread.id].map { ReportTask($0, trace.asyncCalls, in: snapshot) },
        contexts: contexts[thread.id] ?? [])
    }
    if let index = threads.firstIndex(where: \.crashed), index > 0 {
      threads.insert(threads.remove(at: index), at: 0)
    }
    self.snapshot = snapshot
    self.verdict = verdict
    symbolNotes = snapshot.modules.map { stacks.symbols.note(on: $0) }
    allTasks = stacks.tasks
    if snapshot.request == nil {
      waits = Waits(in: snapshot, threads.map { ($0.snapshot, $0.frames) }, verdict.ownCode)
      taskDeadlocks = stacks.tasks?.deadlocks(verdict.ownCode) ?? []
    } else {
      (waits, taskDeadlocks) = (verdict.waits, verdict.taskDeadlocks)
    }
    // For a crash, use the registers of the signal; for a dump without a crash, those of the thread that the dump is
    // about.
    let shown = threads.first(where: \.crashed)
    if let context = snapshot.exception?.context ?? shown?.snapshot.context {
      words = NotedWord.all(in: snapshot, context, symbols: stacks.symbols)
      if snapshot.request == nil, snapshot.end == nil, let cause = verdict.cause {
        objectCause = ObjectCause(
          of: cause, message: verdict.message, shown?.frames ?? [], words,
          ObjectReader(of: snapshot, symbols: stacks.symbols))
      }
    }
    if isAboutWaits {
      standstill = Standstill(
        of: snapshot, shownDeadlockCause, waits, verdict.hang, threads, allTasks,
        verdict.ownCode)
    }
  }
}

// MARK: - What the report is about

extension CrashReport {
  /// True if waits explain the report best: it is of a dump without a crash, or the service manager's watchdog ended the
  /// process.
  package var isAboutWaits: Bool {
    if case .watchdog = verdict.cause?.cause { return true }
    return snapshot.request != nil
  }

  /// The deadlock that the report is about, as a cause; nil if there is none.
  var shownDeadlockCause: Cause? {
    shownDeadlock.map { .deadlock($0) } ?? shownTaskDeadlock.map { .taskDeadlock($0) }
  }

  /// The cycle of waiting threads that the report is about; nil if there is none.
  package var shownDeadlock: Deadlock? {
    if snapshot.request != nil { return waits.deadlock(of: snapshot, verdict.hang) }
    // Another process often ends a hung process with a signal, so the first deadlock in the dump is taken as the
    // explanation for such a signal.
    switch verdict.cause?.cause {
    case .sentSignal, .quitRequest, .watchdog, .ownSignal: return waits.deadlocks.first
    default: break
    }
    return threads.first { $0.crashed }.flatMap { waits.deadlock(with: $0.id) }
  }

  /// The deadlock of tasks that the report is about; nil if there is none.
  package var shownTaskDeadlock: TaskDeadlock? {
    if case .taskDeadlock(let deadlock) = verdict.cause?.cause { return deadlock }
    // A hung process is often ended with a signal, for example by a supervisor or a watchdog. So the first deadlock is
    // taken as the explanation for such a signal.
    switch verdict.cause?.cause {
    case .sentSignal, .quitRequest, .watchdog, .ownSignal: return taskDeadlocks.first
    default: return nil
    }
  }
}

// MARK: - Source locations

extension CrashReport {
  /// The maximum number of source locations for which source code is shown.
  private static var placeCount: Int { 12 }

  /// The source locations of the calls of the program's own code on the crashing thread, innermost first.
  package var ownPlaces: [SourceLocation] {
    let ownCode = verdict.ownCode
    var places: [SourceLocation] = []
    for frame in threads.first(where: \.crashed)?.frames ?? [] where ownCode.isEmphasized(frame) {
      guard let place = frame.sourceLocation, place.line != nil, !places.contains(place) else {
        continue
      }
      places.append(place)
      if places.count == Self.placeCount { break }
    }
    return places
  }
}

// MARK: - Times

extension CrashReport {
  /// The time from a breadcrumb to the crash in nanoseconds, measured with CLOCK_BOOTTIME.
  package func age(of breadcrumb: ClientInformation.Breadcrumb) -> UInt64? {
    breadcrumb.uptime.flatMap(age(since:))
  }

  /// The time from a throw to the crash, in nanoseconds.
  package func age(of thrown: ThrownError) -> UInt64? { age(since: thrown.record.uptime) }

  /// The time from an event to the crash, in nanoseconds; nil if the event was later or the time of the crash is not
  /// known.
  package func age(since uptime: UInt64) -> UInt64? { snapshot.process.age(since: uptime) }

  /// True if all bytes of a range that the program registered are in the dump.
  package func isCaptured(_ range: ClientInformation.ExtraMemoryRange) -> Bool {
    guard let count = Int(exactly: range.size) else { return false }
    return snapshot.memory.bytes(at: range.address, count: count) != nil
  }
}
