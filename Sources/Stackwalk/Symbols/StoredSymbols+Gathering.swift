internal import IntermediateDump
public import ProcessSnapshot

extension StoredSymbols {
  /// The most frames that are kept, innermost and outermost.
  private static var headCount: Int { 192 }
  private static var tailCount: Int { 64 }

  /// The most threads of a hang that are examined, and the most innermost frames of each.
  package static var hangThreads: Int { 128 }
  package static var hangFrames: Int { 64 }

  /// Finds names and lines in the modules' files on this machine: for the crashing thread and its task's asynchronous
  /// callers, and for a hang or a capture for all threads.
  ///
  /// It usually takes a few dozen milliseconds.
  ///
  /// - Parameters:
  ///   - snapshot: the crashed process.
  ///   - source: reads the files; when its time is over, the names found until then are kept.
  /// - Returns: nil if no thread crashed or nothing was found.
  public static func gather(
    for snapshot: ProcessSnapshot, from source: SymbolSource
  ) -> StoredSymbols? {
    guard let thread = snapshot.crashedThread else { return nil }
    let walker = Stackwalker(snapshot: snapshot, symbols: source)
    // The throw comes first, while there is time: for an error that left `main`, nothing else shows the place.
    let thrown = snapshot.lastThrow.map(walker.frames) ?? []
    let trace = walker.trace(
      of: thread, head: headCount, tail: tailCount,
      runsTask: snapshot.tasks.contains { $0.threadID == thread.id })
    // Any of them may be the thread that hangs, or that holds a lock for which others wait.
    let others =
      snapshot.request?.kind == .hang || snapshot.request?.kind == .tool
      ? snapshot.threads.prefix(hangThreads).filter { $0.id != thread.id }
        .flatMap { walker.frames(of: $0, limit: hangFrames) } : []
    var symbols = StoredSymbols()
    for frame in thrown + trace.frames + (trace.asyncCalls?.frames ?? []) + others {
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

  /// Keeps the functions at an address only once, although a recursion adds them repeatedly.
  private mutating func removeRepetitions() {
    for (address, functions) in functions {
      if let end = functions.firstIndex(where: { !$0.isInlined }), end + 1 < functions.count {
        self.functions[address] = Array(functions[...end])
      }
    }
  }
}
