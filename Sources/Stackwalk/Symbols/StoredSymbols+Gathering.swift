internal import IntermediateDump
public import ProcessSnapshot

extension StoredSymbols {
  /// The maximum number of the crashing thread's innermost frames for which names are stored; `tailCount` limits the
  /// outermost ones.
  private static var headCount: Int { 192 }
  private static var tailCount: Int { 64 }

  /// The maximum number of threads that are examined for a hang, or for a dump that a tool requested.
  ///
  /// `hangFrames` is the maximum number of innermost frames of each thread.
  package static var hangThreads: Int { 128 }
  package static var hangFrames: Int { 64 }

  /// The maximum number of groups of tasks whose functions are looked up.
  package static var taskGroups: Int { 64 }

  /// Looks up names and lines for frames in the modules' files on this machine.
  ///
  /// The frames are those of the throw that led to the crash (`lastThrow`), of the crashing thread, and of its task's
  /// asynchronous callers. For a hang, or a dump that a tool requested, frames of other threads are added. Last come
  /// the frames of groups of tasks: the largest groups, and groups with tasks that wait for each other.
  ///
  /// The search usually takes a few dozen milliseconds.
  ///
  /// - Parameters:
  ///   - snapshot: the crashed process.
  ///   - source: reads the files; if the time runs out, the names that were found until then are returned.
  /// - Returns: nil if `crashedThread` is nil or nothing was found.
  public static func gather(
    for snapshot: ProcessSnapshot, from source: SymbolSource
  ) -> StoredSymbols? {
    guard let thread = snapshot.crashedThread else { return nil }
    let walker = Stackwalker(snapshot: snapshot, symbols: source)
    // The throw is looked up first, before the time limit can be reached. For an error that left `main`, nothing else
    // shows where the error was thrown.
    let thrown = snapshot.lastThrow.map(walker.frames) ?? []
    let trace = walker.trace(
      of: thread, head: headCount, tail: tailCount,
      runsTask: snapshot.tasks.contains { $0.threadID == thread.id })
    // For a hang and for `postmortem capture`, other threads are included, because any of them may be the one that
    // hangs, or the one that holds a lock for which others wait.
    let others =
      snapshot.request?.kind == .hang || snapshot.request?.kind == .tool
      ? snapshot.threads.prefix(hangThreads).filter { $0.id != thread.id }
        .flatMap { walker.frames(of: $0, limit: hangFrames) } : []
    let tasks = (snapshot.allTasks?.groups(atMost: taskGroups) ?? []).flatMap {
      walker.frames(ofSuspended: $0.frames.map { Address($0) })
    }
    var symbols = StoredSymbols()
    for frame in thrown + trace.frames + (trace.asyncCalls?.frames ?? []) + others + tasks {
      guard frame.symbol != nil || frame.sourceLocation != nil else { continue }
      let location = frame.sourceLocation
      symbols.functions[frame.lookupAddress, default: []].append(
        Function(
          linkageName: frame.symbol?.linkageName ?? "", offset: frame.symbol?.offset,
          isInlined: frame.isInlined, file: location?.file,
          line: location?.line.flatMap { UInt32(exactly: $0) },
          column: location?.column.flatMap { UInt32(exactly: $0) },
          isLineApproximate: location?.isApproximate ?? false))
    }
    symbols.removeRepetitions()
    return symbols.functions.isEmpty ? nil : symbols
  }

  /// Removes repeated functions of an address.
  ///
  /// In a recursion, several frames have the same address, and each of them has added the address's functions.
  private mutating func removeRepetitions() {
    for (address, functions) in functions {
      if let end = functions.firstIndex(where: { !$0.isInlined }), end + 1 < functions.count {
        self.functions[address] = Array(functions[...end])
      }
    }
  }
}
