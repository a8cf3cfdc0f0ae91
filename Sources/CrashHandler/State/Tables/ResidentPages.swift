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
  /// The number of pages in a window (pages whose states are read at once), and the number of windows in the cache.
  ///
  /// A window is small because the kernel looks at each of its pages. That takes 1 to 6 microseconds for 64 pages; for
  /// a window of 512 pages, it would take 10 to 40 microseconds. The cache is enough for the stacks and thread-local
  /// blocks of more than a thousand threads.
  private static var window: Int { 64 }
  private static var capacity: Int { 4096 }
  /// The number of bytes that a window takes: a word with the window's number and `generation`, and one bit for each
  /// page.
  private static var stride: Int { 16 }
  private static var entriesOffset: Int { capacity &* stride }
  static var byteCount: Int { @_noLocks get { entriesOffset &+ window &* 8 } }
  /// The bits of a page-map entry that mark a page in memory and a page in swap.
  private static var presentOrSwapped: UInt64 { 1 &<< 63 | 1 &<< 62 }

  private let memory: Scratch
  private let pageSize: UInt64
  /// `/proc/thread-self/pagemap`, open while a dump is taken, until it is known that no page can make a read wait.
  private(set) var file = HeldFile()
  /// The bits from 44 on count the calls of `forget`; the bits from 56 on hold the `attempt` that was passed to
  /// `again`.
  ///
  /// Each window in the cache is marked with the window's number combined with this value. The numbers of windows in
  /// user memory are too small to use these bits.
  private var generation: UInt64 = 0

  /// - Parameters:
  ///   - memory: the memory for the cache: `byteCount` bytes, all of them zero.
  ///   - pageSize: the page size of the system.
  @_noLocks
  init(memory: Scratch, pageSize: Int) {
    self.memory = memory
    self.pageSize = UInt64(truncatingIfNeeded: pageSize)
  }

  /// False if the kernel does not provide the page map, so that no page's state is known.
  var isOpen: Bool { @_noLocks get { file.descriptor >= 0 } }

  /// Makes later reads use this page-map file, or no file if the value is empty.
  @_noLocks
  mutating func use(_ file: HeldFile) {
    self.file = file
    forget()
  }

  /// The page-map entry of the page that contains an address; nil if the entry cannot be read.
  @_noLocks
  func entry(_ address: UInt64) -> UInt64? {
    var word: UInt64 = 0
    let offset = Int64(bitPattern: address / pageSize &* 8)
    guard isOpen, unsafe pm_pread(file.descriptor, &word, 8, offset) == 8 else { return nil }
    return word
  }

  /// Empties the cache; called when threads have run since the cache was filled.
  @_noLocks
  mutating func forget() { generation &+= 1 &<< 44 }

  /// Returns a copy that reads the pages' states again, because a running thread may have mapped more pages
  /// meanwhile.
  ///
  /// - Parameter attempt: 0 to use the cache; a new number up to 64 for each new read.
  @_noLocks
  func again(_ attempt: UInt64) -> ResidentPages {
    var pages = self
    pages.generation |= attempt &<< 56
    return pages
  }

  /// Counts the consecutive bytes, starting at an address, that are in pages with the same state: all in memory or
  /// swap, or all in neither.
  ///
  /// - Parameter count: the maximum number of bytes; more than 0.
  @_noLocks
  func run(_ address: UInt64, count: Int) -> (count: Int, isHere: Bool) {
    let last = (address &+ UInt64(truncatingIfNeeded: count &- 1)) / pageSize
    var page = address / pageSize
    let isHere = has(page)
    repeat { page &+= 1 } while page <= last && has(page) == isHere
    guard page <= last else { return (count, isHere) }
    return (Int(truncatingIfNeeded: page &* pageSize &- address), isHere)
  }

  /// True for a page that is in memory or in swap, or whose state is not known.
  private func has(_ page: UInt64) -> Bool {
    let number = page &>> 6
    // Window numbers are hashed by multiplication. Stacks are often at equal distances from each other, so the low bits
    // of their window numbers would often be the same.
    let hash = (number &* 0x9E37_79B9_7F4A_7C15) &>> 52
    let offset = Int(truncatingIfNeeded: hash) &* ResidentPages.stride
    if memory.word(offset) != generation | number { read(number, to: offset) }
    return memory.word(offset &+ 8) &>> (page & 63) & 1 == 1
  }

  @inline(never)
  private func read(_ number: UInt64, to offset: Int) {
    let entries = memory.dropFirst(ResidentPages.entriesOffset)
    let size = ResidentPages.window &* 8
    let result = unsafe pm_pread(
      file.descriptor, entries.address, size, Int64(truncatingIfNeeded: number &* UInt64(size)))
    // The window is marked as invalid first, in case a fault or the time limit interrupts the update.
    memory.setWord(offset, 0)
    var (page, bits) = (0, UInt64(0))
    while page < ResidentPages.window {
      // If the kernel refuses the read, all pages count as present. Addresses beyond the end of the page map never
      // belong to a program, so they count as absent.
      let isHere =
        result < 0
        || page &* 8 < result && entries.word(page &* 8) & ResidentPages.presentOrSwapped != 0
      bits = bits &>> 1 | (isHere ? 1 &<< 63 : 0)
      page &+= 1
    }
    memory.setWord(offset &+ 8, bits)
    memory.setWord(offset, generation | number)
  }
}
