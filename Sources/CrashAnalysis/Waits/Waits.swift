internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The threads that wait, what each of them waits for, and the deadlocks among them.
package struct Waits: Sendable, Equatable {
  /// The waits, at most one for each thread, in the order of the threads; a wait that the runtime refused comes first.
  package private(set) var all: [Wait] = []
  /// The deadlocks, each with its waits in the order in which one thread waits for the next.
  ///
  /// The waits of a deadlock start with the one whose `place` comes first in alphabetical order, so that all reports of
  /// the same deadlock list its waits in the same order.
  package private(set) var deadlocks: [Deadlock] = []
  private var places: [UInt32: Int] = [:]

  package init() {}

  /// A deadlock that consists of a single wait, such as a wait that libdispatch refuses.
  static func cycle(of wait: Wait) -> Deadlock { Deadlock([wait]) }

  init(_ waits: [Wait]) {
    for wait in waits where places[wait.threadID] == nil {
      places[wait.threadID] = all.count
      all.append(wait)
    }
    findCycles()
  }

  /// Marks the deadlocks whose waits may be from different moments, because not all of their threads were stopped.
  ///
  /// For `postmortem capture`, the conversion has removed deadlocks with threads that ran during the dump. If
  /// the hung thread is known, the monitor has shown that this thread did not continue. So the threads that wait for
  /// the hung thread did not continue either.
  mutating func noteMoments(of snapshot: ProcessSnapshot) {
    guard let request = snapshot.request, request.kind == .program || request.kind == .hang else {
      return
    }
    let hung =
      request.kind == .hang && request.threadEvidence == .known
      ? snapshot.exception?.threadID : nil
    let moving = Set(snapshot.threads.lazy.filter { $0.captureMethod == .kernel }.map(\.id))
    for index in deadlocks.indices {
      let threads = deadlocks[index].waits.map(\.threadID)
      deadlocks[index].isOfOneMoment =
        threads.contains { $0 == hung } || !threads.contains(where: moving.contains)
    }
  }

  package func wait(of thread: UInt32) -> Wait? { places[thread].map { all[$0] } }

  package func deadlock(with thread: UInt32) -> Deadlock? {
    deadlocks.first { $0.waits.contains { $0.threadID == thread } }
  }

  /// The chain of waits that begins at a thread.
  ///
  /// The chain contains the thread, the owner of the lock that the thread waits for, and so on. Each thread occurs
  /// once.
  package func chain(from thread: UInt32) -> [UInt32] {
    var chain = [thread]
    var seen: Set = [thread]
    while let last = chain.last, let owner = wait(of: last)?.owner, seen.insert(owner).inserted {
      chain.append(owner)
    }
    return chain
  }

  private mutating func findCycles() {
    let cycles = Cycles.all(from: all.map(\.threadID)) { thread in
      wait(of: thread)?.owner.flatMap { wait(of: $0) }?.threadID
    }
    deadlocks = cycles.map { Deadlock($0.compactMap { wait(of: $0) }) }.sorted {
      $0.order < $1.order
    }
  }
}

/// A deadlock: a cycle of threads, each of which waits for the next one, for example for a lock that the next thread
/// holds.
package struct Deadlock: Sendable, Equatable {
  package let waits: [Wait]
  /// False if a thread was not stopped, so that the waits may be from different moments.
  package fileprivate(set) var isOfOneMoment = true

  /// Creates a deadlock whose first wait does not depend on which thread was examined first, so that all reports of the
  /// deadlock list the waits in the same order.
  fileprivate init(_ waits: [Wait]) {
    let first = waits.indices.min { Self.order(of: waits[$0]) < Self.order(of: waits[$1]) } ?? 0
    self.waits = Array(waits[first...] + waits[..<first])
  }

  /// True if all waits of the cycle are certain, are known to have existed at the same moment, and do not end by
  /// themselves.
  package var isCertain: Bool {
    isOfOneMoment && !hasLimit && waits.allSatisfy(\.isCertain)
  }

  /// True if a wait of the cycle ends by itself after some time.
  package var hasLimit: Bool { waits.contains(where: \.hasLimit) }

  fileprivate var order: (String, UInt32) {
    waits.first.map(Self.order) ?? ("", 0)
  }

  /// A key to order waits by their place, which is the same in every run, and then by thread.
  private static func order(of wait: Wait) -> (String, UInt32) {
    (wait.place ?? "\u{10FFFF}", wait.threadID)
  }
}
