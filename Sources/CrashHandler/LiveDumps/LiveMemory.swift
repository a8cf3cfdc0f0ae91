internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// Reads the memory of a running process with process_vm_readv, but only pages that are in memory according to the page
/// map.
///
/// Not crash code. Source: process_vm_readv(2), Linux Documentation/admin-guide/mm/pagemap.rst.
@safe
final class LiveMemory: TaskMemory {
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

  /// Opens the process's page map (`/proc/PID/pagemap`); nil if pages do not have 4 KiB, the page map cannot be opened,
  /// or no memory is left.
  ///
  /// - Parameter process: the process's ID; 0 for this process.
  init?(_ maps: LiveMaps, of process: Int32) {
    // With larger pages, each entry of the page map would cover more than `pageSize`, so pages would be counted
    // wrongly.
    guard sysconf(Int32(_SC_PAGESIZE)) == Int(Self.pageSize) else { return nil }
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

  /// Empties the cache, so that later calls of `word(at:)` read the process's memory again.
  func forgetPages() {
    for slot in tags.indices { tags[slot] = 0 }
  }

  func isCode(_ address: UInt64) -> Bool { maps.isCode(address) }

  func word(at address: UInt64) -> UInt64? {
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

  /// Calls a closure with each part of a range that is in memory, and with the address of the part's first byte.
  ///
  /// - Parameters:
  ///   - limit: reading stops once `found.bytesSeen` has reached this number.
  ///   - deadline: reading stops once the thread's CPU time, in nanoseconds, has reached this value.
  ///   - found: the collection whose counts of bytes this method increases.
  func forEachPart(
    of range: Range<UInt64>, limit: UInt64, deadline: UInt64, noting found: inout TaskCollection,
    _ body: (UnsafeRawBufferPointer, UInt64) -> Void
  ) {
    let end = range.upperBound / Self.pageSize
    var page = range.lowerBound / Self.pageSize
    while page < end {
      guard found.bytesSeen < limit, LiveTaskSearch.processorTime < deadline else {
        // The remaining pages all count as unseen, because it is not known which of them are in memory.
        found.bytesUnseen = found.bytesUnseen.clampedAdding((end - page) * Self.pageSize)
        return
      }
      let states = states(of: page, count: Int(min(end - page, 512)))
      guard !states.isEmpty else { return }
      var index = 0
      while index < states.count {
        let run = states[index...].prefix(Self.partPages).prefix { $0 }.count
        if run > 0 { unsafe read(page + UInt64(index), count: run, noting: &found, body) }
        index += max(run, 1)
      }
      page += UInt64(states.count)
    }
  }

  private func read(
    _ page: UInt64, count: Int, noting found: inout TaskCollection,
    _ body: (UnsafeRawBufferPointer, UInt64) -> Void
  ) {
    let size = count * Int(Self.pageSize)
    guard unsafe copy(page, to: buffer, count: count) else {
      found.bytesUnseen += UInt64(size)
      return
    }
    found.bytesSeen += UInt64(size)
    unsafe body(UnsafeRawBufferPointer(start: buffer, count: size), page * Self.pageSize)
  }
}
