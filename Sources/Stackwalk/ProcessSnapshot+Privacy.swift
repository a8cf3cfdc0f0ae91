package import IntermediateDump
package import ProcessSnapshot

extension ProcessSnapshot {
  /// The snapshot without data that a report of this privacy may not contain; never less strict than the dump's
  /// privacy.
  ///
  /// This is the only place that removes such data from a report, before the minidump, text, JSON or HTML is made.
  ///
  /// - Parameters:
  ///   - privacy: the requested privacy.
  ///   - symbols: reads unwind tables, to find the frames that replace memory; nil to find frames without them.
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
  /// - Parameter symbols: names the frames; nil for no names.
  package func withoutMemory(symbols: SymbolSource?) -> ProcessSnapshot {
    var snapshot = self
    snapshot.leaveOutMemory(symbols)
    return snapshot
  }

  /// The frames of a dump without mappings and modules.
  ///
  /// There, only the stack walk distinguishes their addresses from secrets.
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
