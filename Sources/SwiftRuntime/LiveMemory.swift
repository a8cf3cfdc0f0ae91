internal import CSignalSafe
internal import Glibc

/// The memory of a running process, read with process_vm_readv, but only pages that are in memory according to the page
/// map.
///
/// So reading never waits for a FUSE file system, and loads no pages into memory. No thread is stopped during a search,
/// so a task that a thread changes at that moment may be missing. Not crash code. Source: process_vm_readv(2), Linux Documentation/admin-guide/mm/pagemap.rst.
@safe
package final class LiveMemory: SearchedMemory {
  private static let pageSize: UInt64 = 4096
  /// The maximum number of pages that `forEachPart` reads at once, and the number of pages that `word(at:)` caches.
  private static let (partPages, cachedPages) = (16, 256)
  private static let isPresent: UInt64 = 1 << 63

  private let maps: LiveMaps
  private let process: Int32
  private let pageMap: Int32
  /// Memory for the pages that are read at once, followed by the cached pages.
  ///
  /// This memory is mapped after `maps` was read, so the search does not find the copies of tasks in it.
  private let buffer: UnsafeMutableRawPointer
  private var tags: [UInt64]
  private static var bufferSize: Int { (partPages + cachedPages) * Int(pageSize) }

  /// Reads the process's mappings, and opens its page map (`/proc/PID/pagemap`); nil if pages do not have 4 KiB, one of
  /// the files cannot be read, or no memory is left.
  ///
  /// - Parameter process: the process's ID; 0 for this process.
  package init?(of process: Int32) {
    // With larger pages, each entry of the page map would cover more than `pageSize`, so pages would be counted
    // wrongly.
    guard sysconf(Int32(_SC_PAGESIZE)) == Int(Self.pageSize), let maps = LiveMaps(of: process)
    else { return nil }
    let pageMap = unsafe open(
      process == 0 ? "/proc/self/pagemap" : "/proc/\(process)/pagemap", O_RDONLY | O_CLOEXEC)
    guard pageMap >= 0 else { return nil }
    let memory = unsafe mmap(
      nil, Self.bufferSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory = unsafe memory, unsafe memory != MAP_FAILED else {
      close(pageMap)
      return nil
    }
    self.maps = maps
    self.process = process == 0 ? getpid() : process
    self.pageMap = pageMap
    unsafe buffer = memory
    tags = [UInt64](repeating: 0, count: Self.cachedPages)
  }

  deinit {
    unsafe munmap(buffer, Self.bufferSize)
    close(pageMap)
  }

  /// Returns a word of a process's memory, even if its page is not in memory; nil if the kernel refuses to read it.
  package static func word(at address: UInt64, of process: Int32) -> UInt64? {
    var word: UInt64 = 0
    guard let from = unsafe UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: address)),
      unsafe pm_copy_memory(process, &word, from, 8) == 8
    else { return nil }
    return word
  }

  package var searched: [Range<UInt64>] { maps.searched }
  package var readableBytes: UInt64 { maps.residentBytes }

  package func forgetPages() {
    for slot in tags.indices { tags[slot] = 0 }
  }

  package func isCode(_ address: UInt64) -> Bool { maps.isCode(address) }

  package func word(at address: UInt64) -> UInt64? {
    let offset = Int(address % Self.pageSize)
    guard offset <= Int(Self.pageSize) - 8, let page = unsafe page(address / Self.pageSize) else {
      return nil
    }
    return unsafe page.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }

  /// Returns a copy of a page; nil if the page is not in memory or cannot be read.
  private func page(_ number: UInt64) -> UnsafeMutableRawPointer? {
    let slot = Int(number % UInt64(Self.cachedPages))
    let place = unsafe buffer + (Self.partPages + slot) * Int(Self.pageSize)
    if tags[slot] == number, number != 0 { return unsafe place }
    tags[slot] = 0
    guard number != 0, states(of: number, count: 1).first == true,
      unsafe copy(number, to: place, count: 1)
    else { return nil }
    tags[slot] = number
    return unsafe place
  }

  private func copy(_ page: UInt64, to place: UnsafeMutableRawPointer, count: Int) -> Bool {
    let size = count * Int(Self.pageSize)
    let address = UInt(truncatingIfNeeded: page * Self.pageSize)
    guard let from = unsafe UnsafeRawPointer(bitPattern: address) else { return false }
    return unsafe pm_copy_memory(process, place, from, size) == size
  }

  /// Returns, for `count` consecutive pages, whether each is in memory.
  ///
  /// - Parameter page: the number of the first page: its address divided by `pageSize`.
  /// - Returns: fewer elements if the page map ends or cannot be read.
  private func states(of page: UInt64, count: Int) -> [Bool] {
    unsafe [Bool](unsafeUninitializedCapacity: count) { states, filled in
      unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: count) { entries in
        let result = unsafe pread(
          pageMap, entries.baseAddress, count * 8, off_t(truncatingIfNeeded: page * 8))
        filled = max(0, result / 8)
        for index in 0..<filled {
          unsafe states[index] = entries[index] & Self.isPresent != 0
        }
      }
    }
  }

  package func forEachPart(
    of range: Range<UInt64>, while mayRead: () -> Bool,
    _ body: (UnsafeRawBufferPointer, UInt64) -> Void
  ) -> UInt64 {
    let end = range.upperBound / Self.pageSize
    var page = range.lowerBound / Self.pageSize
    var unread: UInt64 = 0
    while page < end {
      // The remaining pages all count as not read, because it is not known which of them are in memory.
      guard mayRead() else { return unread + (end - page) * Self.pageSize }
      let states = states(of: page, count: Int(min(end - page, 512)))
      guard !states.isEmpty else { break }
      var index = 0
      while index < states.count {
        let run = states[index...].prefix(Self.partPages).prefix { $0 }.count
        let start = page + UInt64(index)
        index += max(run, 1)
        guard run > 0 else { continue }
        let size = run * Int(Self.pageSize)
        if unsafe copy(start, to: buffer, count: run) {
          unsafe body(UnsafeRawBufferPointer(start: buffer, count: size), start * Self.pageSize)
        } else {
          unread += UInt64(size)
        }
      }
      page += UInt64(states.count)
    }
    return unread
  }
}
