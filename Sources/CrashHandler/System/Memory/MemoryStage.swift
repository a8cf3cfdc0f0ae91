internal import CSignalSafe

/// Ranges of the program's memory that are read with one system call.
///
/// RUNS-DURING-CRASH. Source: process_vm_readv(2).
@safe
struct MemoryStage {
  /// The offset in `scratch` of the ranges' addresses and sizes; the number of ranges and the total number of bytes
  /// precede them.
  private static var rangesOffset: Int { 16 }
  private static var dataOffset: Int {
    @_noLocks get { rangesOffset &+ Int(PM_COPIED_RANGES) &* 16 }
  }

  private let memory: SafeMemory
  private let scratch: Scratch

  /// Creates a stage without ranges.
  @_noLocks
  init(_ memory: SafeMemory, in scratch: Scratch) {
    self.memory = memory
    self.scratch = scratch
    removeAll()
  }

  @_noLocks
  func removeAll() {
    scratch.setWord(0, 0)
    scratch.setWord(8, 0)
  }

  /// The number of ranges that were added.
  var count: Int { @_noLocks get { Int(truncatingIfNeeded: scratch.word(0)) } }
  var isFull: Bool { @_noLocks get { count == Int(PM_COPIED_RANGES) } }

  /// The address at which a range begins.
  @_noLocks
  func address(_ index: Int) -> UInt64 { scratch.word(MemoryStage.rangesOffset &+ index &* 16) }

  /// The index of the first range that begins at an address; nil if there is none.
  @_noLocks
  func index(of address: UInt64) -> Int? {
    for index in Indices(count) {
      if self.address(index) == address { return index }
    }
    return nil
  }

  /// Adds a range to be read, or as many of its first bytes as are in memory.
  ///
  /// Returns false if too few bytes are in memory, or if the stage has no room.
  ///
  /// - Parameter least: the minimum number of bytes to add; nil if all bytes of the range are needed.
  @_noLocks @discardableResult
  func add(_ address: UInt64, count: Int, least: Int? = nil) -> Bool {
    let (number, size) = (self.count, Int(truncatingIfNeeded: scratch.word(8)))
    let offset = MemoryStage.rangesOffset &+ number &* 16
    guard !isFull, count > 0, count <= scratch.size &- MemoryStage.dataOffset &- size else {
      return false
    }
    let wanted = least ?? count
    let count = memory.countAtHand(address, count: count)
    guard count >= wanted else { return false }
    scratch.setWord(offset, address)
    scratch.setWord(offset &+ 8, UInt64(truncatingIfNeeded: count))
    scratch.setWord(0, UInt64(truncatingIfNeeded: number &+ 1))
    scratch.setWord(8, UInt64(truncatingIfNeeded: size &+ count))
    return true
  }

  /// Reads the ranges; one system call is enough unless a range cannot be read completely.
  ///
  /// Such a range is skipped, and its length becomes 0.
  @inline(never) @_noLocks
  func read() {
    let total = Int(truncatingIfNeeded: scratch.word(8))
    var (index, size) = (0, 0)
    while index < count {
      let place = MemoryStage.dataOffset &+ size
      var copied = unsafe memory.copyRanges(
        scratch.address + MemoryStage.rangesOffset + index &* 16, number: count &- index,
        to: scratch.address + place, count: total &- size)
      guard copied >= 0 else { break }
      while index < count, length(index) <= copied {
        copied &-= length(index)
        size &+= length(index)
        index &+= 1
      }
      guard index < count else { break }
      scratch.setWord(MemoryStage.rangesOffset &+ index &* 16 &+ 8, 0)
      index &+= 1
    }
    scratch.setWord(8, UInt64(truncatingIfNeeded: size))
  }

  /// Returns the bytes of the range that begins at an address; nil unless exactly `count` bytes were read.
  @_noLocks
  func bytes(_ address: UInt64, count: Int) -> Bytes? {
    guard let index = index(of: address), let bytes = bytes(index), bytes.count == count else {
      return nil
    }
    return bytes
  }

  /// Returns the bytes of the range at an index; nil if the range was not read completely.
  @_noLocks
  func bytes(_ index: Int) -> Bytes? {
    let size = Int(truncatingIfNeeded: scratch.word(8))
    var start = 0
    for before in Indices(index) {
      start &+= length(before)
    }
    guard index < count, length(index) > 0, start &+ length(index) <= size else { return nil }
    return scratch.bytes(MemoryStage.dataOffset &+ start, count: length(index))
  }

  private func length(_ index: Int) -> Int {
    Int(truncatingIfNeeded: scratch.word(MemoryStage.rangesOffset &+ index &* 16 &+ 8))
  }
}
