package import ProcessSnapshot
package import Stackwalk

/// The deadlocks among the threads of a snapshot, which can be compared with a later moment.
package struct SnapshotWaits {
  package let snapshot: ProcessSnapshot
  package let deadlocks: [Deadlock]
  private let stacks: [[StackFrame]]
  private let ownCode: OwnCode

  /// - Parameter symbols: the source of the symbols; it may have been used for other reports before.
  package init(of snapshot: ProcessSnapshot, symbols: SymbolSource) {
    symbols.begin(stored: snapshot.storedSymbols)
    let walker = Stackwalker(snapshot: snapshot, symbols: symbols)
    let stacks = snapshot.threads.map { walker.frames(of: $0, limit: StoredSymbols.hangFrames) }
    let ownCode = OwnCode(of: snapshot, frames: stacks.flatMap { $0 })
    (self.snapshot, self.stacks, self.ownCode) = (snapshot, stacks, ownCode)
    deadlocks = Self.waits(of: snapshot, stacks, ownCode).deadlocks
  }

  /// The deadlocks at a later moment.
  ///
  /// - Parameter later: the same threads in the same order; their stacks are those of the snapshot.
  package func deadlocks(in later: ProcessSnapshot) -> [Deadlock] {
    Self.waits(of: later, stacks, ownCode).deadlocks
  }

  private static func waits(
    of snapshot: ProcessSnapshot, _ stacks: [[StackFrame]], _ ownCode: OwnCode
  ) -> Waits {
    Waits(in: snapshot, zip(snapshot.threads, stacks).map { ($0, $1) }, ownCode)
  }
}
