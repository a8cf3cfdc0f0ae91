public import ProcessSnapshot

extension StoredSymbols {
  /// The frames of the crashing thread that are kept: the innermost, and the outermost of a deeper
  /// stack.
  private static var headCount: Int { 192 }
  private static var tailCount: Int { 64 }

  /// Names the functions of the crashing thread from the modules' files on this machine, and those
  /// that wait for it in its task.
  ///
  /// Takes mostly some tens of milliseconds, and somewhat more than the limit at most.
  ///
  /// - Parameters:
  ///   - snapshot: the crashed process.
  ///   - timeLimit: seconds after which no more is read; what was found until then is kept.
  /// - Returns: nil if no thread crashed or nothing was found.
  public static func gather(for snapshot: ProcessSnapshot, timeLimit: Double) -> StoredSymbols? {
    guard let thread = snapshot.crashedThread else { return nil }
    let walker = Stackwalker(snapshot: snapshot, symbols: SymbolSource(timeLimit: timeLimit))
    let trace = walker.trace(
      of: thread, head: headCount, tail: tailCount,
      runsTask: snapshot.tasks.contains { $0.threadID == thread.id })
    var symbols = StoredSymbols()
    for frame in trace.frames + (trace.asyncCalls?.frames ?? []) {
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

  /// A recursion comes to the same address again; its functions are kept once.
  private mutating func removeRepetitions() {
    for (address, functions) in functions {
      if let end = functions.firstIndex(where: { !$0.isInlined }), end + 1 < functions.count {
        self.functions[address] = Array(functions[...end])
      }
    }
  }
}
