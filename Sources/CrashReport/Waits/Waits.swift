internal import ProcessSnapshot
internal import Stackwalk

/// Which threads wait for which.
package struct Waits: Sendable, Equatable {
  /// The waits, at most one for each thread, in the order of the threads.
  package private(set) var all: [Wait] = []
  /// The deadlocks, each in the order of its owners; every dump of the same deadlock gives the same result.
  package private(set) var deadlocks: [Deadlock] = []
  private var places: [UInt32: Int] = [:]

  package init() {}

  /// A circle of a single wait, which libdispatch refuses.
  static func circle(of wait: Wait) -> Deadlock { Deadlock([wait]) }

  init(_ waits: [Wait]) {
    for wait in waits where places[wait.threadID] == nil {
      places[wait.threadID] = all.count
      all.append(wait)
    }
    findCircles()
  }

  /// - Parameter threads: the threads, each with its frames, innermost first.
  init(
    in snapshot: ProcessSnapshot, _ threads: [(thread: ThreadSnapshot, frames: [StackFrame])],
    _ ownCode: OwnCode
  ) {
    let decoder = WaitDecoder(snapshot, ownCode)
    let known = threads.compactMap { decoder.wait(of: $0.thread, $0.frames) }
    self.init(known)
    // In a crash, this also includes the wait that ended the process.
    let recursion = RecursiveMutex(snapshot: snapshot, waits: self)
    let refused = threads.lazy.compactMap { thread, frames -> Wait? in
      var wait = recursion.wait(of: thread, frames)
      wait?.place = decoder.place(in: frames)
      return wait
    }.first
    if let refused { self.init([refused] + known) }
  }

  package func wait(of thread: UInt32) -> Wait? { places[thread].map { all[$0] } }

  func deadlock(with thread: UInt32) -> Deadlock? {
    deadlocks.first { $0.waits.contains { $0.threadID == thread } }
  }

  /// The circle that a dump without a crash is about: of the thread that hangs, otherwise the first.
  func deadlock(of snapshot: ProcessSnapshot, _ hang: HangSubject?) -> Deadlock? {
    guard snapshot.request != nil else { return nil }
    return hang?.threadID.flatMap { deadlock(with: $0) } ?? deadlocks.first
  }

  /// The chain of waits from a thread: the thread, the owner of the lock that it waits for, and so on; each once.
  func chain(from thread: UInt32) -> [UInt32] {
    var chain = [thread]
    var seen: Set = [thread]
    while let last = chain.last, let owner = wait(of: last)?.owner, seen.insert(owner).inserted {
      chain.append(owner)
    }
    return chain
  }

  /// Each thread waits for at most one owner, so a walk from each thread finds every circle once.
  private mutating func findCircles() {
    /// The walk that reached a thread first.
    var walks: [UInt32: Int] = [:]
    for (walk, start) in all.enumerated() {
      var path: [Wait] = []
      var next: Wait? = start
      while let wait = next, walks[wait.threadID] == nil {
        walks[wait.threadID] = walk
        path.append(wait)
        next = wait.owner.flatMap { self.wait(of: $0) }
      }
      guard let end = next, walks[end.threadID] == walk,
        let first = path.firstIndex(where: { $0.threadID == end.threadID })
      else { continue }
      deadlocks.append(Deadlock(Array(path[first...])))
    }
    deadlocks.sort { $0.order < $1.order }
  }
}

/// A deadlock: a circle of threads, each of which waits for a lock that the next one holds.
package struct Deadlock: Sendable, Equatable {
  package let waits: [Wait]

  /// Creates a deadlock that begins at the same place whichever thread was examined first.
  fileprivate init(_ waits: [Wait]) {
    let first = waits.indices.min { Self.order(of: waits[$0]) < Self.order(of: waits[$1]) } ?? 0
    self.waits = Array(waits[first...] + waits[..<first])
  }

  /// True if the word, its mark of a waiter and the function agree for each.
  package var isCertain: Bool { waits.allSatisfy(\.isCertain) }

  fileprivate var order: (String, UInt32) {
    waits.first.map(Self.order) ?? ("", 0)
  }

  /// Ordered by the place, which is the same in every run.
  private static func order(of wait: Wait) -> (String, UInt32) {
    (wait.place ?? "\u{10FFFF}", wait.threadID)
  }

  var finding: Finding {
    Finding(
      cause: .deadlock(self), certainty: isCertain ? .certain : .likely,
      evidence: waits.map { .wait($0) })
  }
}
