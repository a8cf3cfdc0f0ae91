/// Writes the memory that the crashing thread's registers point to.
///
/// For each register that can be a pointer, a window of memory is written, from 128 bytes below the address in the
/// register to 384 bytes above it. Overlapping windows are joined. The memory that registers point to is often more
/// useful than the stack.
///
/// RUNS-DURING-CRASH. Source: Crashpad
/// `client/ios_handler/in_process_intermediate_dump_handler.cc`, MaybeCaptureMemoryAround.
extension Capture {
  /// Writes the windows around the addresses in `registers` as memory regions, into the array that is currently open in
  /// the dump.
  @_noLocks
  func writeMemory(aroundRegisters registers: Bytes) {
    let (regions, scratch) = (cachedRegions, session.scratch)
    let count = sort(registers, in: scratch)
    regions.memory.readAhead(pages(of: count, in: scratch))
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

  /// The addresses of the pages that contain the memory around the registers' values, each page once.
  private func pages(of count: Int, in scratch: Scratch) -> Bytes {
    let pages = scratch.dropFirst(RegisterMemory.pagesOffset)
    let mask = ~UInt64(truncatingIfNeeded: PageCache.pageSize &- 1)
    var (total, last) = (0, UInt64(0))
    for index in Indices(count) {
      let value = scratch.word(index &* 8)
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

  /// Stores those register values that can be pointers in scratch memory, in ascending order.
  ///
  /// - Returns: the number of stored values.
  private func sort(_ registers: Bytes, in scratch: Scratch) -> Int {
    var count = 0
    for index in Indices(RegisterMemory.count) {
      let value = registers.word(index &* 8)
      // By default, a process cannot map the first 64 KiB (vm.mmap_min_addr). User addresses have at most 48 bits,
      // unless the program asks the kernel for higher addresses. Other values are not treated as addresses.
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

private enum RegisterMemory {
  fileprivate static var bytesBelow: UInt64 { 128 }
  fileprivate static var bytesAbove: UInt64 { 384 }
  /// The offset, in scratch memory, of the list of the pages that contain the memory around the addresses in registers.
  fileprivate static var pagesOffset: Int { 1024 }

  /// The number of registers that may be pointers: on x86_64 the 16 general registers, on arm64 x0 to x30 and sp.
  fileprivate static var count: Int {
    #if arch(arm64)
      32
    #else
      16
    #endif
  }
}
