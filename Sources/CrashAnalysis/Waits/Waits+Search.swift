internal import IntermediateDump
package import ProcessSnapshot
package import Stackwalk

extension Waits {
  /// - Parameter threads: the threads, each with its frames, innermost first.
  init(
    in snapshot: ProcessSnapshot, _ threads: [(thread: ThreadSnapshot, frames: [StackFrame])],
    _ ownCode: OwnCode
  ) {
    let decoder = WaitDecoder(snapshot, ownCode)
    let globals = LazyGlobals(threads)
    let holding = OwnHolding(memory: snapshot.memory, ownCode: ownCode)
    let references = LockReferences(snapshot: snapshot)
    var known = threads.compactMap { thread, frames -> Wait? in
      var wait = decoder.wait(of: thread, frames)
      if let found = wait, holding.isLikely(found, frames) {
        wait?.owner = thread.id
      } else if let found = wait, found.readers > 0 {
        wait?.references = references.threads(for: found)
      }
      if wait?.subject == .once {
        let owner = globals.owner(for: frames)
        wait?.owner = owner ?? globals.likelyOwner(for: frames)
        wait?.isCertain = owner != nil
      }
      return wait
    }
    if known.contains(where: \.isRefused) {
      let waits = Waits(known)
      let mutexes = RefusedMutex(snapshot: snapshot, ids: decoder.ids)
      for index in known.indices where known[index].isRefused {
        mutexes.find(&known[index], among: waits)
      }
    }
    self.init(known)
    let refused = RecursiveMutex(snapshot, threads).refused(among: known).map { wait, frames in
      var wait = wait
      wait.place = decoder.place(in: frames)
      return wait
    }
    if !refused.isEmpty { self.init(refused + known) }
    noteMoments(of: snapshot)
  }
}

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
