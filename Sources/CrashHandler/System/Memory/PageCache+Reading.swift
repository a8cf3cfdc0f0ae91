internal import CSignalSafe

/// Reads pages of the program's memory into the cache.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension PageCache {
  /// Copies up to `count` bytes; returns the number of bytes before the first unreadable byte.
  ///
  /// - Parameter isBegun: true if the bytes after this range will be needed too.
  @_noLocks
  func copy(
    _ address: UInt64, to place: UnsafeMutableRawPointer, count: Int, isBegun: Bool,
    from memory: SafeMemory
  ) -> Int {
    var done = 0
    while done < count {
      let start = address &+ UInt64(truncatingIfNeeded: done)
      let page = start & ~UInt64(truncatingIfNeeded: PageCache.pageSize &- 1)
      let offset = Int(truncatingIfNeeded: start &- page)
      let rest = count &- done
      var index = index(of: page)
      if index < 0 {
        // The number of pages from this page to the last page that is needed.
        let wanted = (offset &+ rest &+ PageCache.pageSize &- 1) / PageCache.pageSize
        // Only pages in memory or in swap are read ahead. Reading any other page takes three system calls, and fails
        // for pages of the kernel, such as those of the vDSO's data.
        let ahead =
          isBegun
          ? memory.countAtHand(page, count: PageCache.readAhead &* PageCache.pageSize)
            / PageCache.pageSize : 0
        index = read(page, count: wanted < ahead ? ahead : wanted, from: memory)
      }
      let available = self[index].count &- offset
      guard available > 0 else { break }
      let toPageEnd = PageCache.pageSize &- offset
      let wanted = rest < toPageEnd ? rest : toPageEnd
      let piece = wanted < available ? wanted : available
      unsafe pm_copy_bytes(place + done, self.place(index) + offset, piece)
      done &+= piece
      if piece < wanted { break }
    }
    return done
  }

  /// Reads pages with one system call for every `batch` pages, and one more call after each page that cannot be read.
  ///
  /// - Parameter pages: the pages, as ranges that `Scratch.setRange` stored.
  @_noLocks
  func read(_ pages: Bytes, from memory: SafeMemory) {
    let total = pages.count / 16
    var done = 0
    while done < total {
      let rest = total &- done
      let count = rest < PageCache.batch ? rest : PageCache.batch
      let first = take(count)
      let addresses = pages.dropFirst(done &* 16)
      let copied = unsafe memory.copyPages(addresses, count: count, to: place(first))
      for index in Indices(copied) {
        self[first &+ index] = Entry(
          address: addresses.word(index &* 16), count: PageCache.pageSize)
      }
      // The page at which the kernel stopped is skipped here; if it is needed later, it is read separately.
      done &+= copied < count ? copied &+ 1 : copied
    }
  }

  /// Reads consecutive pages into the cache; returns the index of the first page's entry.
  private func read(_ page: UInt64, count: Int, from memory: SafeMemory) -> Int {
    let first = take(count)
    let copied = unsafe memory.copyDirectly(
      page, to: place(first), count: count &* PageCache.pageSize)
    self[first] = Entry(
      address: page, count: copied < PageCache.pageSize ? copied : PageCache.pageSize)
    var index = 1
    while index < count, copied >= (index &+ 1) &* PageCache.pageSize {
      self[first &+ index] = Entry(
        address: page &+ UInt64(truncatingIfNeeded: index &* PageCache.pageSize),
        count: PageCache.pageSize)
      index &+= 1
    }
    return first
  }
}
