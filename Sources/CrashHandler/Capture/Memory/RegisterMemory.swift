/// Writes the memory that the crashing thread's registers point to.
///
/// For each register, a window of memory is written, from 128 bytes below the address in the register to 384 bytes
/// above it. Overlapping windows are joined. The memory that registers point to is often more useful than the stack.
///
/// RUNS-DURING-CRASH. Source: Crashpad
/// `client/ios_handler/in_process_intermediate_dump_handler.cc`, MaybeCaptureMemoryAround.
@safe
struct RegisterMemory {
  private static var bytesBelow: UInt64 { 128 }
  private static var bytesAbove: UInt64 { 384 }
  /// The offset, in scratch memory, of the list of pages that the windows cover.
  private static var pagesOffset: Int { 1024 }

  /// The number of registers that may be pointers: on x86_64 the 16 general registers, on arm64 x0 to x30 and sp.
  private static var count: Int {
    @_noLocks get {
      #if arch(arm64)
        32
      #else
        16
      #endif
    }
  }

  private let regions: MemoryWriter
  private let scratch: Scratch

  @_noLocks
  init(_ regions: MemoryWriter, scratch: Scratch) {
    self.regions = regions
    self.scratch = scratch
  }

  /// Writes the windows as regions into the open array.
  @_noLocks
  func write(_ registers: Bytes) {
    let count = sort(registers)
    regions.memory.readAhead(pages(of: count))
    var index = 0
    while index < count {
      let start = scratch.word(index &* 8) &- RegisterMemory.bytesBelow
      var end = start &+ RegisterMemory.bytesBelow &+ RegisterMemory.bytesAbove
      index &+= 1
      while index < count {
        let next = scratch.word(index &* 8)
        guard next &- RegisterMemory.bytesBelow <= end else { break }
        end = next &+ RegisterMemory.bytesAbove
        index &+= 1
      }
      regions.writeRegion(start, count: Int(truncatingIfNeeded: end &- start))
    }
  }

  /// The addresses of the pages that the windows cover, each page once.
  private func pages(of count: Int) -> Bytes {
    let pages = scratch.dropFirst(RegisterMemory.pagesOffset)
    let mask = ~UInt64(truncatingIfNeeded: PageCache.pageSize &- 1)
    var (total, index, last) = (0, 0, UInt64(0))
    while index < count {
      let value = scratch.word(index &* 8)
      index &+= 1
      let end = (value &+ RegisterMemory.bytesAbove &- 1) & mask
      var page = (value &- RegisterMemory.bytesBelow) & mask
      if page <= last { page = last &+ UInt64(truncatingIfNeeded: PageCache.pageSize) }
      while page <= end {
        pages.setRange(total, page, count: PageCache.pageSize)
        total &+= 1
        last = page
        page &+= UInt64(truncatingIfNeeded: PageCache.pageSize)
      }
    }
    return pages.bytes(count: total &* 16)
  }

  /// Puts the values of the registers that can be pointers into scratch memory, in ascending order.
  ///
  /// - Returns: the number of these registers.
  private func sort(_ registers: Bytes) -> Int {
    var count = 0
    var index = 0
    while index < RegisterMemory.count {
      let value = registers.word(index &* 8)
      index &+= 1
      // Nothing is mapped in the first 64 KiB or above the user's half of the address space.
      guard value >= 0x10000, value < 0x0001_0000_0000_0000 else { continue }
      var slot = count
      while slot > 0 {
        let previous = scratch.word((slot &- 1) &* 8)
        if previous <= value { break }
        scratch.setWord(slot &* 8, previous)
        slot &-= 1
      }
      scratch.setWord(slot &* 8, value)
      count &+= 1
    }
    return count
  }
}
