internal import CSignalSafe

/// Pages of the program's memory that were read lately.
///
/// Lists, chains of frames and headers are read in words that lie close together: one call for each
/// page in place of one for each word, and one call for many pages whose addresses are known. A page
/// is what it was when it was read first, so only a dump whose threads stand still, or that would not
/// mind, reads through it. Entries are taken in turn.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
@safe
struct PageCache {
  /// Bytes of a page, on systems with larger ones too.
  static var pageSize: Int { @_noLocks get { 4096 } }
  /// Few: the kernel clears each when it is first written to, which costs as much as reading one.
  static var capacity: Int { @_noLocks get { 16 } }
  /// The most pages that one call reads.
  static var batch: Int { @_noLocks get { Int(PM_COPIED_PAGES) } }
  /// Pages that are read from one on, where what follows will be wanted too.
  private static var readAhead: Int { 4 }
  /// Bytes of the table: the pages, an entry for each, the next entry to be taken, the last one found.
  static var byteCount: Int { @_noLocks get { capacity &* (pageSize &+ 16) &+ 16 } }

  private struct Entry {
    /// 0 for none: nothing is read from page 0.
    var address: UInt64
    /// Bytes of it, from the first on, that could be read.
    var count: Int
  }

  private let base: UnsafeMutableRawPointer

  @_noLocks
  init(base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  /// Forgets all pages.
  @_noLocks
  func removeAll() { remove(0, count: PageCache.capacity) }

  /// Copies up to `count` bytes; returns the number that could be read, from the first on.
  ///
  /// - Parameter isBegun: whether more will be wanted behind them.
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
        // To the last page that is wanted.
        let wanted = (offset &+ rest &+ PageCache.pageSize &- 1) / PageCache.pageSize
        index = read(
          page, count: isBegun && wanted < PageCache.readAhead ? PageCache.readAhead : wanted,
          from: memory)
      }
      let available = unsafe entry(index).pointee.count &- offset
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

  /// Reads pages, `batch` of them by one call, and one more call behind each that cannot be read.
  ///
  /// - Parameter pages: addresses of pages, each a word.
  @_noLocks
  func read(_ pages: Bytes, from memory: SafeMemory) {
    let total = pages.count / 8
    var done = 0
    while done < total {
      let rest = total &- done
      let count = rest < PageCache.batch ? rest : PageCache.batch
      let first = take(count)
      let addresses = pages.dropFirst(done &* 8)
      guard let copied = unsafe memory.copyPages(addresses, count: count, to: place(first)) else {
        return
      }
      var index = 0
      while index < copied {
        unsafe entry(first &+ index).pointee = Entry(
          address: addresses.word(index &* 8), count: PageCache.pageSize)
        index &+= 1
      }
      // The one at which the kernel stopped is left to who wants it.
      done &+= copied < count ? copied &+ 1 : copied
    }
  }

  // MARK: - Entries

  /// Reads pages that follow one another; returns the entry of the first.
  private func read(_ page: UInt64, count: Int, from memory: SafeMemory) -> Int {
    let first = take(count)
    let copied = unsafe memory.copyDirectly(
      page, to: place(first), count: count &* PageCache.pageSize)
    unsafe entry(first).pointee = Entry(
      address: page, count: copied < PageCache.pageSize ? copied : PageCache.pageSize)
    var index = 1
    while index < count, copied >= (index &+ 1) &* PageCache.pageSize {
      unsafe entry(first &+ index).pointee = Entry(
        address: page &+ UInt64(truncatingIfNeeded: index &* PageCache.pageSize),
        count: PageCache.pageSize)
      index &+= 1
    }
    return first
  }

  /// Takes entries that follow one another, at most `batch`; they hold nothing until they are filled.
  private func take(_ count: Int) -> Int {
    let next = unsafe cursors[0]
    let first = next <= PageCache.capacity &- count ? next : 0
    unsafe cursors[0] = first &+ count < PageCache.capacity ? first &+ count : 0
    remove(first, count: count)
    return first
  }

  private func remove(_ first: Int, count: Int) {
    var index = first
    while index < first &+ count {
      unsafe entry(index).pointee = Entry(address: 0, count: 0)
      index &+= 1
    }
  }

  /// The entry of a page; -1 if there is none.
  private func index(of page: UInt64) -> Int {
    let last = unsafe cursors[1]
    if unsafe entry(last).pointee.address == page { return last }
    var index = 0
    while index < PageCache.capacity {
      if unsafe entry(index).pointee.address == page {
        unsafe cursors[1] = index
        return index
      }
      index &+= 1
    }
    return -1
  }

  private func place(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe base + index &* PageCache.pageSize
  }

  private func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + (PageCache.capacity &* PageCache.pageSize &+ index &* 16))
      .assumingMemoryBound(to: Entry.self)
  }

  private var cursors: UnsafeMutablePointer<Int> {
    @_noLocks get {
      unsafe (base + PageCache.capacity &* (PageCache.pageSize &+ 16))
        .assumingMemoryBound(to: Int.self)
    }
  }
}
