package import ProcessSnapshot
package import Stackwalk

extension Deadlock {
  /// The deadlocks among the threads of a snapshot, found without making a report.
  ///
  /// - Parameter symbols: the source of the symbols; this function calls its `begin`, so it may have been used for
  ///   another report before.
  package static func all(in snapshot: ProcessSnapshot, symbols: SymbolSource) -> [Deadlock] {
    symbols.begin(stored: snapshot.storedSymbols)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let stacks = snapshot.threads.map { walker.frames(of: $0, limit: StoredSymbols.hangFrames) }
    let ownCode = OwnCode(of: snapshot, frames: stacks.flatMap { $0 })
    return Waits(in: snapshot, zip(snapshot.threads, stacks).map { ($0, $1) }, ownCode).deadlocks
  }
}
