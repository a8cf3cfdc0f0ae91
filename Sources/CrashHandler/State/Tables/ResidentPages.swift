internal import CSignalSafe

/// Finds out which pages of the process are in memory or in swap.
///
/// Such pages can be read without waiting for a thread of the program.
///
/// A read of any other page may wait for a thread of the program that handles userfaultfd events or serves a FUSE file
/// system. That thread may be stopped, or may be the thread that crashed, and no signal interrupts the wait in
/// process_vm_readv.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump. Source: Linux
/// Documentation/admin-guide/mm/pagemap.rst.
@safe
struct ResidentPages {
  /// The maximum number of pages whose states are read at once.
  ///
  /// The number is small because the kernel looks at each of the pages. That takes 1 to 6 microseconds for 64 pages.
  private static var window: Int { 64 }
  static var byteCount: Int { @_noLocks get { window &* 8 } }
  /// The bits of a page-map entry that mark a page in memory and a page in swap.
  private static var presentOrSwapped: UInt64 { 1 &<< 63 | 1 &<< 62 }

  private let memory: Scratch
  private let pageSize: UInt64
  /// `/proc/thread-self/pagemap`, open while a dump is taken, until it is known that no page can make a read wait.
  var file = HeldFile()

  /// - Parameters:
  ///   - memory: the memory for page-map entries: `byteCount` bytes.
  ///   - pageSize: the page size of the system.
  @_noLocks
  init(memory: Scratch, pageSize: Int) {
    self.memory = memory
    self.pageSize = UInt64(truncatingIfNeeded: pageSize)
  }

  /// False if no page's state is known, because the kernel does not provide the page map, or the states are not needed.
  var isOpen: Bool { @_noLocks get { file.descriptor >= 0 } }

  /// The page-map entry of the page that contains an address; nil if the entry cannot be read.
  @_noLocks
  func entry(_ address: UInt64) -> UInt64? {
    isOpen && read(address / pageSize, count: 1) == 8 ? memory.word(0) : nil
  }

  /// Counts the consecutive bytes, starting at an address, that are in pages with the same state: all in memory or
  /// swap, or all in neither.
  ///
  /// If the kernel refuses to show the states, all pages count as being in memory.
  ///
  /// - Parameter count: the maximum number of bytes; more than 0.
  @_noLocks
  func run(_ address: UInt64, count: Int) -> (count: Int, isHere: Bool) {
    let first = address / pageSize
    let last = (address &+ UInt64(truncatingIfNeeded: count &- 1)) / pageSize
    let rest = Int(truncatingIfNeeded: last &- first) &+ 1
    let pages = rest < ResidentPages.window ? rest : ResidentPages.window
    let size = read(first, count: pages)
    guard size >= 0 else { return (count, true) }
    let isHere = isHere(0, in: size)
    var index = 1
    while index < pages, self.isHere(index, in: size) == isHere { index &+= 1 }
    guard index < rest else { return (count, isHere) }
    let end = (first &+ UInt64(truncatingIfNeeded: index)) &* pageSize
    return (Int(truncatingIfNeeded: end &- address), isHere)
  }

  private func read(_ page: UInt64, count: Int) -> Int {
    unsafe pm_pread(
      file.descriptor, memory.address, count &* 8, Int64(truncatingIfNeeded: page &* 8))
  }

  /// True for a page in memory or in swap; false beyond the end of the page map, where no program has memory.
  private func isHere(_ index: Int, in size: Int) -> Bool {
    index &* 8 < size && memory.word(index &* 8) & ResidentPages.presentOrSwapped != 0
  }
}
