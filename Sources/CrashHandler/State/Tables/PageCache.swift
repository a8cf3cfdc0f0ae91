/// Recently read pages of the program's memory.
///
/// Lists, chains of frames and headers are read word by word, and these words are close together. With the cache, one
/// system call reads a page instead of a word, or several pages whose addresses are known. A cached page is not
/// updated, so the cache is used only if the threads are stopped or outdated contents do no harm. The entries are
/// reused in turn, whether or not their pages were needed again.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
@safe
struct PageCache {
  /// The number of bytes of a page in the cache, even if the system's pages are larger.
  static var pageSize: Int { @_noLocks get { 4096 } }
  /// The number of pages in the cache.
  ///
  /// The number is small, because the kernel clears each page of the cache's own memory when it is first used, which
  /// takes as long as reading a page.
  static var capacity: Int { @_noLocks get { 16 } }
  /// The maximum number of pages that one system call reads.
  static var batch: Int { @_noLocks get { 8 } }
  /// The maximum number of pages that are read at once if the caller will also need the pages after the requested page.
  static var readAhead: Int { @_noLocks get { 4 } }
  /// The size of the cache in bytes.
  ///
  /// The cache consists of the pages, an entry for each page, the index of the next entry to reserve, and the index
  /// of the entry that was found last.
  static var byteCount: Int { @_noLocks get { capacity &* (pageSize &+ 16) &+ 16 } }

  struct Entry {
    /// The page's address; 0 for a free entry, because the page at address 0 is never read.
    var address: UInt64 = 0
    /// The number of bytes that could be read from the start of the page.
    var count = 0

    @_noLocks
    init(address: UInt64 = 0, count: Int = 0) {
      self.address = address
      self.count = count
    }
  }

  let base: UnsafeMutableRawPointer

  /// Removes all pages from the cache.
  @_noLocks
  func removeAll() { remove(0, count: PageCache.capacity) }

  /// Reserves and empties `count` consecutive entries, at most `batch`; returns the index of the first entry.
  @_noLocks
  func take(_ count: Int) -> Int {
    let next = unsafe cursors[0]
    let first = next <= PageCache.capacity &- count ? next : 0
    unsafe cursors[0] = first &+ count < PageCache.capacity ? first &+ count : 0
    remove(first, count: count)
    return first
  }

  private func remove(_ first: Int, count: Int) {
    for index in Indices(count) { unsafe entry(first &+ index).pointee = Entry() }
  }

  /// The index of a page's entry; -1 if there is none.
  @_noLocks
  func index(of page: UInt64) -> Int {
    let last = unsafe cursors[1]
    if unsafe entry(last).pointee.address == page { return last }
    for index in Indices(PageCache.capacity) {
      if unsafe entry(index).pointee.address == page {
        unsafe cursors[1] = index
        return index
      }
    }
    return -1
  }

  @_noLocks
  func place(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe base + index &* PageCache.pageSize
  }

  @_noLocks
  subscript(index: Int) -> Entry {
    @_noLocks get { unsafe entry(index).pointee }
    @_noLocks nonmutating set { unsafe entry(index).pointee = newValue }
  }

  private func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + (PageCache.capacity &* PageCache.pageSize &+ index &* 16))
      .assumingMemoryBound(to: Entry.self)
  }

  private var cursors: UnsafeMutablePointer<Int> {
    unsafe (base + PageCache.capacity &* (PageCache.pageSize &+ 16))
      .assumingMemoryBound(to: Int.self)
  }
}
