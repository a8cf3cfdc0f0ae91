package import IntermediateDump
package import ProcessSnapshot

extension ProcessSnapshot {
  /// Returns the snapshot without the data that a report with the requested privacy may not contain.
  ///
  /// If the dump's own privacy is stricter, that privacy applies.
  ///
  /// The converter calls this function before it writes a minidump. Code that makes a text, a page, JSON or an upload
  /// from the minidump calls this function again if the requested privacy is stricter.
  ///
  /// - Parameters:
  ///   - privacy: the requested privacy; a stricter level of the snapshot stays in effect.
  ///   - symbols: reads unwind tables, to find the frames that are stored instead of memory; nil to use only the
  ///     dump.
  package func keeping(_ privacy: ReportPrivacy, symbols: SymbolSource?) -> ProcessSnapshot {
    let privacy = max(privacy, process.privacy ?? .full)
    guard privacy > .full else { return self }
    var snapshot = self
    snapshot.sanitize(
      keeping: framesWithoutCode(), tables: capturedTables, keepsObjects: privacy == .sanitized)
    if privacy > .sanitized { snapshot.leaveOutMemory(symbols) }
    snapshot.process.privacy = privacy
    return snapshot
  }

  /// Returns the snapshot without memory; each thread keeps the frames that a walk of its stack finds.
  ///
  /// - Parameter symbols: provides unwind tables and code for the walks; nil to use only the dump.
  package func withoutMemory(symbols: SymbolSource?) -> ProcessSnapshot {
    var snapshot = self
    snapshot.leaveOutMemory(symbols)
    return snapshot
  }

  /// The addresses of all frames, for a dump that has neither mappings nor modules.
  ///
  /// In such a dump, only a stack walk can distinguish code addresses from other numbers, which may be secrets.
  private func framesWithoutCode() -> [Address] {
    guard mappings.isEmpty, modules.isEmpty else { return [] }
    let walker = Stackwalker(snapshot: self, symbols: nil)
    return threads.flatMap { walker.frames(of: $0, limit: StoredStack.limit).map(\.address) }
  }

  /// Finds and stores the frames of each thread, then removes all memory.
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
