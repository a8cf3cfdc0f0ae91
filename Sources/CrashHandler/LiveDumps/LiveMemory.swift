internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// The memory of a running process, read through the kernel, and only where the page map calls a page present.
///
/// Not crash code. Source: process_vm_readv(2), Linux Documentation/admin-guide/mm/pagemap.rst.
@safe
final class LiveMemory: TaskMemory {
  private static let pageSize: UInt64 = 4096
  /// How many pages are read at once, and how many pages are cached for single words.
  private static let (partPages, cachedPages) = (16, 256)
  private static let isPresent: UInt64 = 1 << 63

  private let maps: LiveMaps
  private let process: Int32
  private let pageMap: Int32
  /// The pages that are read at once, followed by the cached pages.
  ///
  /// They are in a mapping that is made after `maps` was read, so they are not searched: they contain copies of tasks.
  private let buffer: UnsafeMutableRawPointer
  private var tags: [UInt64]
  private static var bufferSize: Int { (partPages + cachedPages) * Int(pageSize) }

  /// Nil if the kernel does not show the page map, or has no memory.
  ///
  /// - Parameter process: the process's ID; 0 for this process.
  init?(_ maps: LiveMaps, of process: Int32) {
    // With larger pages, an entry of the page map stands for more bytes.
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

  /// Makes the next words be read from the memory as it is then.
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

  /// A copy of a page; nil if the page is not in memory.
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

  /// For each page from a number on, true if it is in memory; fewer if the page map cannot be read.
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

  /// Passes the bytes of a range that are in memory to a closure, with the address of the first byte.
  ///
  /// - Parameters:
  ///   - limit: the number of bytes after which nothing more is read.
  ///   - deadline: the CPU time of the thread after which nothing more is read.
  ///   - found: its counts of bytes are increased.
  func forEachPart(
    of range: Range<UInt64>, limit: UInt64, deadline: UInt64, noting found: inout TaskCollection,
    _ body: (UnsafeRawBufferPointer, UInt64) -> Void
  ) {
    let end = range.upperBound / Self.pageSize
    var page = range.lowerBound / Self.pageSize
    while page < end {
      guard found.bytesSeen < limit, LiveTaskSearch.processorTime < deadline else {
        // How many of these pages are in memory is not known.
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
