internal import Glibc
internal import Synchronization

/// The bytes of a dump, either in memory or in a file; at most 1 MiB of a file is cached.
///
/// The cache is limited because a dump can be larger than the memory that its reader may use.
package struct DumpBytes: Sendable {
  private enum Storage {
    case memory([UInt8])
    case file(PagedFile)
  }

  private let storage: Storage

  /// The code that opens dumps reads a file of at most this size in bytes into memory completely.
  package static let smallSize = 1 << 20

  package init(_ bytes: [UInt8]) { storage = .memory(bytes) }

  /// Reads a dump from a regular file.
  ///
  /// The file is not mapped, because reading a mapped page beyond the end of a file that has shrunk raises SIGBUS.
  ///
  /// - Parameters:
  ///   - descriptor: a descriptor that is open for reading; the initializer duplicates it.
  ///   - count: the file's size in bytes.
  /// - Returns: nil if the process has no free descriptor.
  package init?(descriptor: Int32, count: Int) {
    guard let file = PagedFile(descriptor: descriptor, count: count) else { return nil }
    storage = .file(file)
  }

  package var count: Int {
    switch storage {
    case .memory(let bytes): bytes.count
    case .file(let file): file.count
    }
  }

  /// The error number of the first failed read; 0 if no read has failed.
  ///
  /// The error is EIO if the file was shorter than `count`.
  ///
  /// After an error, the parsed dump may be incomplete, because an unreadable part looks like the end of the dump.
  package var readError: Int32 {
    switch storage {
    case .memory: 0
    case .file(let file): file.readError
    }
  }

  /// True if the dump is in memory; slices then share that memory.
  package var isInMemory: Bool {
    if case .memory = storage { true } else { false }
  }

  /// Reads a range, without a copy if the dump is in memory; nil if the range is outside the dump or the file cannot
  /// be read.
  package func slice(_ range: Range<Int>) -> ArraySlice<UInt8>? {
    guard range.lowerBound >= 0, range.upperBound <= count else { return nil }
    switch storage {
    case .memory(let bytes): return bytes[range]
    case .file(let file): return file.slice(range)
    }
  }

  /// Reads a little-endian integer of up to 8 bytes; nil if it is not inside the dump, or cannot be read.
  package func integer(at offset: Int, width: Int) -> UInt64? {
    guard offset >= 0, width >= 0, offset <= count, width <= count - offset else { return nil }
    return slice(offset..<offset + width)?.littleEndian(at: 0, width: width)
  }

  /// Passes the bytes of a range to a closure from front to back, in slices of at most 64 KiB if the dump is in a file.
  ///
  /// - Returns: false if a part of the range cannot be read.
  package func forEachSlice<Failure: Error>(
    of range: Range<Int>, _ body: (ArraySlice<UInt8>) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    // Slices are small, because malloc makes a system call for each large allocation.
    let step = isInMemory ? max(range.count, 1) : 1 << 16
    var start = range.lowerBound
    while start < range.upperBound {
      let end = min(range.upperBound, start + step)
      guard let slice = slice(start..<end) else { return false }
      try body(slice)
      start = end
    }
    return true
  }
}

/// A file, together with the pages that were last read from it.
private final class PagedFile: Sendable {
  private static let pageSize = 1 << 14
  private static let maximumCount = 64

  private struct Pages {
    var contents: [Int: [UInt8]] = [:]
    /// The numbers of the pages in `contents`, as a ring whose oldest entry is at `oldest`.
    var order: [Int] = []
    var oldest = 0
  }

  private let descriptor: Int32
  let count: Int
  private let pages = Mutex(Pages())
  private let firstError = Atomic<Int32>(0)

  init?(descriptor: Int32, count: Int) {
    self.descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
    self.count = max(0, count)
    if self.descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  var readError: Int32 { firstError.load(ordering: .relaxed) }

  func slice(_ range: Range<Int>) -> ArraySlice<UInt8>? {
    guard let last = range.last else { return [] }
    let number = range.lowerBound / Self.pageSize
    guard last / Self.pageSize == number else { return read(range)?[...] }
    let start = number * Self.pageSize
    return page(number)?[range.lowerBound - start..<range.upperBound - start]
  }

  private func page(_ number: Int) -> [UInt8]? {
    pages.withLock { pages in
      if let known = pages.contents[number] { return known }
      let start = number * Self.pageSize
      guard let page = read(start..<min(count, start + Self.pageSize)) else { return nil }
      if pages.order.count < Self.maximumCount {
        pages.order.append(number)
      } else {
        pages.contents[pages.order[pages.oldest]] = nil
        pages.order[pages.oldest] = number
        pages.oldest = (pages.oldest + 1) % Self.maximumCount
      }
      pages.contents[number] = page
      return page
    }
  }

  private func read(_ range: Range<Int>) -> [UInt8]? {
    var isWhole = true
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
      while filled < range.count {
        let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[filled...])
        let result = unsafe pread(
          descriptor, rest.baseAddress, rest.count, off_t(range.lowerBound + filled))
        if result < 0, errno == EINTR { continue }
        guard result > 0 else {
          isWhole = false
          _ = firstError.compareExchange(
            expected: 0, desired: result < 0 ? errno : EIO, ordering: .relaxed)
          return
        }
        filled += result
      }
    }
    return isWhole ? bytes : nil
  }
}
