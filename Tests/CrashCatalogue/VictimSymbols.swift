internal import ProcessSnapshot
internal import Stackwalk
internal import Synchronization

/// The functions on crashing threads' stacks, of thousands of processes that run the same few files.
///
/// What was read of a file is kept: unoptimised, each reading takes seconds.
final class VictimSymbols: Sendable {
  private struct Shelf {
    var source = SymbolSource()
    var uses = 0
  }

  /// Innermost first; a crash's own function is among them.
  private static let frameCount = 24
  /// Frames that were found are kept, too: in each process at other addresses.
  private static let mostUses = 500

  private let shelf = Mutex(Shelf())

  func functions(on thread: ThreadSnapshot, of snapshot: ProcessSnapshot) -> [String] {
    shelf.withLock { shelf in
      if shelf.uses == Self.mostUses { shelf = Shelf() }
      shelf.uses += 1
      let walker = Stackwalker(snapshot: snapshot, symbols: shelf.source)
      return walker.frames(of: thread, limit: Self.frameCount).compactMap { $0.symbol?.linkageName }
    }
  }
}
