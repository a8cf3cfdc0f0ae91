internal import CSignalSafe

/// Ranges of the program's memory, read by one system call.
///
/// RUNS-DURING-CRASH. Source: process_vm_readv(2).
@safe
struct MemoryStage {
  /// The number of ranges, the bytes of all, then a pair of address and size for each.
  private static var rangesOffset: Int { 16 }
  private static var dataOffset: Int {
    @_noLocks get { rangesOffset &+ Int(PM_COPIED_RANGES) &* 16 }
  }

  private let memory: SafeMemory
  private let scratch: Scratch

  /// Begins without ranges.
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

  /// Adds a range to be read; false if it may not be, is not in memory, or there is no room for it.
  @_noLocks
  func add(_ address: UInt64, count: Int) -> Bool {
    let number = Int(truncatingIfNeeded: scratch.word(0))
    let size = Int(truncatingIfNeeded: scratch.word(8))
    let offset = MemoryStage.rangesOffset &+ number &* 16
    guard number < Int(PM_COPIED_RANGES), count > 0,
      count <= scratch.size &- MemoryStage.dataOffset &- size,
      memory.isAtHand(address, count: count)
    else { return false }
    scratch.setWord(offset, address)
    scratch.setWord(offset &+ 8, UInt64(truncatingIfNeeded: count))
    scratch.setWord(0, UInt64(truncatingIfNeeded: number &+ 1))
    scratch.setWord(8, UInt64(truncatingIfNeeded: size &+ count))
    return true
  }

  /// Reads the ranges, to the first byte that cannot be read.
  @inline(never) @_noLocks
  func read() {
    let number = Int(truncatingIfNeeded: scratch.word(0))
    let size = Int(truncatingIfNeeded: scratch.word(8))
    guard number > 0 else { return }
    let count = unsafe memory.copyRanges(
      scratch.address + MemoryStage.rangesOffset, number: number,
      to: scratch.address + MemoryStage.dataOffset, count: size)
    scratch.setWord(8, UInt64(truncatingIfNeeded: count))
  }

  /// The bytes of a range; nil if it was not read whole.
  @_noLocks
  func bytes(_ address: UInt64, count: Int) -> Bytes? {
    let number = Int(truncatingIfNeeded: scratch.word(0))
    let size = Int(truncatingIfNeeded: scratch.word(8))
    var index = 0
    var start = 0
    while index < number {
      let offset = MemoryStage.rangesOffset &+ index &* 16
      let length = Int(truncatingIfNeeded: scratch.word(offset &+ 8))
      if scratch.word(offset) == address, length == count {
        guard start &+ length <= size else { return nil }
        return scratch.bytes(MemoryStage.dataOffset &+ start, count: count)
      }
      start &+= length
      index &+= 1
    }
    return nil
  }
}
