internal import CSignalSafe

/// Tells which pages of the process are in memory or in swap: these are read without waiting for anybody.
///
/// Another page may be one that a thread of the program brings, for userfaultfd or as a FUSE file system.
/// That thread is stopped, or is the one that crashed, and no signal ends the wait in process_vm_readv.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump. Source: Linux
/// Documentation/admin-guide/mm/pagemap.rst.
@safe
struct ResidentPages {
  /// Pages that one read tells of.
  private static var window: Int { 512 }
  /// Offsets of the window's first page and the number of its pages, in front of its entries.
  private static var firstOffset: Int { 0 }
  private static var countOffset: Int { 8 }
  private static var entriesOffset: Int { 16 }
  static var byteCount: Int { @_noLocks get { entriesOffset &+ window &* 8 } }
  /// Bits of an entry.
  private static var presentOrSwapped: UInt64 { 1 &<< 63 | 1 &<< 62 }

  private let memory: Scratch
  private let pageSize: UInt64
  /// `/proc/thread-self/pagemap`, open while a dump is taken.
  private var file = HeldFile()

  /// - Parameters:
  ///   - memory: of `byteCount` zeros.
  ///   - pageSize: the system's.
  @_noLocks
  init(memory: Scratch, pageSize: Int) {
    self.memory = memory
    self.pageSize = UInt64(truncatingIfNeeded: pageSize)
  }

  /// False where the kernel does not tell; then nothing is known of any page.
  var isOpen: Bool { @_noLocks get { file.descriptor >= 0 } }

  @_noLocks
  mutating func open(_ capture: Capture) {
    close(capture)
    guard capture.mayMake(CallBit.proc) else { return }
    file = capture.calls.hold(capture.proc.open(named: "thread-self/pagemap"))
    forget()
  }

  @_noLocks
  mutating func close(_ capture: Capture) {
    if isOpen, capture.isSame(file) { _ = pm_close(file.descriptor) }
    file = HeldFile()
  }

  /// Forgets what was read, for threads have run since.
  @_noLocks
  func forget() { memory.setWord(ResidentPages.countOffset, 0) }

  /// Counts the bytes from an address on that are alike: all of pages that are here, or none.
  ///
  /// - Parameter count: the most; more than 0.
  @_noLocks
  func run(_ address: UInt64, count: Int) -> (count: Int, isHere: Bool) {
    let last = (address &+ UInt64(truncatingIfNeeded: count &- 1)) / pageSize
    var page = address / pageSize
    let isHere = has(page)
    repeat { page &+= 1 } while page <= last && has(page) == isHere
    guard page <= last else { return (count, isHere) }
    return (Int(truncatingIfNeeded: page &* pageSize &- address), isHere)
  }

  /// True if all bytes of a range are of such pages.
  @_noLocks
  func have(_ address: UInt64, count: Int) -> Bool {
    let run = run(address, count: count)
    return run.isHere && run.count == count
  }

  /// True for a page that is here, or where the kernel does not tell.
  private func has(_ page: UInt64) -> Bool {
    let first = memory.word(ResidentPages.firstOffset)
    if page &- first >= memory.word(ResidentPages.countOffset) { read(from: page) }
    let index = Int(truncatingIfNeeded: page &- memory.word(ResidentPages.firstOffset))
    let entry = memory.word(ResidentPages.entriesOffset &+ index &* 8)
    return entry & ResidentPages.presentOrSwapped != 0
  }

  @inline(never)
  private func read(from page: UInt64) {
    let entries = memory.dropFirst(ResidentPages.entriesOffset)
    let (size, position) = (ResidentPages.window &* 8, Int64(truncatingIfNeeded: page &* 8))
    let result = unsafe pm_pread(file.descriptor, entries.address, size, position)
    memory.setWord(ResidentPages.firstOffset, page)
    memory.setWord(
      ResidentPages.countOffset, UInt64(truncatingIfNeeded: result > 8 ? result / 8 : 1))
    // No address of a program, or a refusal, which says nothing about the page.
    if result < 8 { entries.setWord(0, result < 0 ? ResidentPages.presentOrSwapped : 0) }
  }
}
