/// The numbers from 0 up to a count, for `for` loops.
///
/// Crash code uses this type instead of `0..<count`, which traps if the count is negative.
///
/// RUNS-DURING-CRASH.
struct Indices: Sequence, IteratorProtocol {
  private var index = 0
  private let count: Int

  @_noLocks
  init(_ count: Int) { self.count = count }

  @_noLocks
  func makeIterator() -> Indices { self }

  @_noLocks
  mutating func next() -> Int? {
    guard index < count else { return nil }
    index &+= 1
    return index &- 1
  }
}
