package import IntermediateDump
package import ProcessSnapshot

extension ProcessSnapshot {
  /// The same without what a report of this privacy may not hold; never less strict than the dump is.
  ///
  /// The one way from a full report to a private one: before minidump, text, JSON and HTML are made.
  ///
  /// - Parameters:
  ///   - privacy: what is asked for.
  ///   - symbols: reads unwind tables, by which the frames are found that stand for memory; nil for frames
  ///     that are found without.
  package func keeping(_ privacy: ReportPrivacy, symbols: SymbolSource?) -> ProcessSnapshot {
    let privacy = max(privacy, process.privacy ?? .full)
    guard privacy > .full else { return self }
    var snapshot = self
    snapshot.sanitize(keeping: framesWithoutCode())
    if privacy > .sanitized { snapshot.leaveOutMemory(symbols) }
    snapshot.process.privacy = privacy
    return snapshot
  }

  /// The snapshot without memory; each thread keeps the frames that are found in it.
  ///
  /// - Parameter symbols: names them; nil for none.
  package func withoutMemory(symbols: SymbolSource?) -> ProcessSnapshot {
    var snapshot = self
    snapshot.leaveOutMemory(symbols)
    return snapshot
  }

  /// The frames of a dump that knows neither mappings nor modules: nothing tells their addresses from
  /// secrets there but that the walk finds them.
  private func framesWithoutCode() -> [Address] {
    guard mappings.isEmpty, modules.isEmpty else { return [] }
    let walker = Stackwalker(snapshot: self, symbols: nil)
    return threads.flatMap { walker.frames(of: $0, limit: StoredStack.limit).map(\.address) }
  }

  /// Leaves out memory, and keeps the frames that were found in it.
  private mutating func leaveOutMemory(_ symbols: SymbolSource?) {
    let walker = Stackwalker(snapshot: self, symbols: symbols)
    let running = Set(tasks.map(\.threadID))
    for index in threads.indices {
      let thread = threads[index]
      threads[index].storedStack =
        thread.storedStack ?? walker.storedStack(of: thread, runsTask: running.contains(thread.id))
      threads[index].stack = []
    }
    memory = MemorySnapshot()
  }
}
