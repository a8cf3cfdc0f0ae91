internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// Reads system files (in /proc, /sys and /etc) outside signal handlers; inside them, `ProcReader` reads such files.
///
/// Files about this process's memory, descriptors and namespaces are read from `/proc/thread-self`, because
/// `/proc/self` does not show these once the first thread has ended.
///
/// Most of these files have a size of 0. So a file is read until a read returns nothing, unless one read is known to
/// return everything needed. Paths are passed to the kernel by `withCString`, because the implicit conversion to a
/// pointer would copy them twice.
package enum SystemFile {
  private static let pieceSize = 16384
  /// The sizes, in bytes, of the buffers for the first read of a file with `isOneRecord`, and for the first
  /// readlink(2).
  ///
  /// The buffers are small, so that a launch touches fewer pages.
  private static let recordSize = 4000
  private static let targetSize = 256

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - limit: the maximum number of bytes that are returned.
  ///   - isOneRecord: true if the first read returns everything needed, as for `/proc` files whose text the kernel
  ///     returns in one piece.
  /// - Returns: the bytes of the file; nil if it cannot be read.
  package static func bytes(
    _ path: String, limit: Int = 1 << 20, isOneRecord: Bool = false
  ) -> [UInt8]? {
    let descriptor = descriptor(of: path)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    var size = isOneRecord ? recordSize : pieceSize
    while contents.count < limit {
      size = min(limit - contents.count, size)
      guard let next = piece(of: descriptor, size: size, isOneRecord: isOneRecord) else {
        return nil
      }
      if contents.isEmpty { contents = next } else { contents += next }
      // A piece that has fewer bytes than were requested is the last one.
      if next.count < size { break }
      size = pieceSize
    }
    return contents
  }

  private static func descriptor(of path: String) -> Int32 {
    let descriptor = unsafe path.withCString { unsafe open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
    if descriptor < 0 { SystemRefusals.note(errno) }
    return descriptor
  }

  /// Reads `size` bytes, or fewer at the end of the file; nil if a read fails.
  ///
  /// If `isOneRecord` is true, the bytes are those of the first read, even if there are fewer than `size`.
  private static func piece(of descriptor: Int32, size: Int, isOneRecord: Bool) -> [UInt8]? {
    var failed = false
    let piece = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      while count < size, let base = buffer.baseAddress {
        let result = unsafe read(descriptor, base + count, size - count)
        if result < 0, errno == EINTR { continue }
        failed = result < 0
        if failed { SystemRefusals.note(errno) }
        if result <= 0 { return }
        count += result
        if isOneRecord { return }
      }
    }
    return failed ? nil : piece
  }

  /// Returns the text of a file; nil if the file cannot be read.
  package static func text(_ path: String, isOneRecord: Bool = false) -> String? {
    bytes(path, isOneRecord: isOneRecord).map { String(decoding: $0, as: UTF8.self) }
  }

  /// Reads a file that contains one integer; nil if the file contains anything else or cannot be read.
  package static func integer(_ path: String) -> UInt64? {
    bytes(path, isOneRecord: true).flatMap { integer(of: $0) }
  }

  /// Reads an open file that contains one integer, from its start; nil if the file contains anything else or cannot be
  /// read.
  package static func integer(_ descriptor: Int32) -> UInt64? {
    var digits: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    return unsafe withUnsafeMutableBytes(of: &digits) { buffer in
      let count = unsafe pread(descriptor, buffer.baseAddress, buffer.count, 0)
      guard count > 0 else { return nil }
      return unsafe integer(of: buffer.prefix(count))
    }
  }

  /// Reads a number, and ignores the line feed at the end of files in /proc.
  private static func integer(of text: some BidirectionalCollection<UInt8>) -> UInt64? {
    numberOfDigits(text.last == UInt8(ascii: "\n") ? text.dropLast() : text[...], radix: 10)
  }

  /// Returns the number that follows a name at the start of a line.
  ///
  /// The file is read piece by piece and only up to that line.
  package static func number(_ name: String, inFile path: String) -> UInt64? {
    let descriptor = descriptor(of: path)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var text: [UInt8] = []
    while text.count < 1 << 20,
      let piece = piece(of: descriptor, size: recordSize, isOneRecord: true), !piece.isEmpty
    {
      if text.isEmpty { text = piece } else { text += piece }
      // The last line may be cut in the middle of its number, so it is not searched yet.
      let whole = text[...(text.lastIndex(of: UInt8(ascii: "\n")) ?? 0)]
      if let number = number(name, inBytes: whole) { return number }
    }
    return nil
  }

  /// Returns the number that follows a name at the start of a line, as in `/proc/vmstat` and `/proc/meminfo`.
  package static func number(_ name: String, in text: String?) -> UInt64? {
    text.flatMap { number(name, inBytes: $0.utf8) }
  }

  private static func number(_ name: String, inBytes text: some Sequence<UInt8>) -> UInt64? {
    let name = Array(name.utf8)
    // The number of bytes of the name that the current line has matched so far; nil if the line does not match.
    var matched: Int? = 0
    var value: UInt64?
    for byte in text {
      switch (byte, matched) {
      case (UInt8(ascii: "\n"), _):
        if value != nil { return value }
        matched = 0
      case (_, nil): break
      case (_, let count?) where count < name.count:
        matched = byte == name[count] ? count + 1 : nil
      case (UInt8(ascii: " "), let count?), (UInt8(ascii: "\t"), let count?):
        if value != nil { return value }
        matched = count == name.count ? count + 1 : count
      case (UInt8(ascii: "0")...UInt8(ascii: "9"), let count?) where count > name.count:
        let (product, overflow) = (value ?? 0).multipliedReportingOverflow(by: 10)
        let (sum, carry) = product.addingReportingOverflow(UInt64(byte & 15))
        if overflow || carry { return nil }
        value = sum
      default:
        if value != nil { return nil }
        matched = nil
      }
    }
    return value
  }

  /// Returns the target of a symbolic link; nil if the link cannot be read.
  package static func target(_ path: String) -> String? {
    for size in [targetSize, Int(PATH_MAX)] {
      var count = 0
      let target = unsafe String(unsafeUninitializedCapacity: size) { buffer in
        count = unsafe path.withCString { path in
          unsafe buffer.withMemoryRebound(to: CChar.self) { buffer in
            unsafe buffer.baseAddress.map { unsafe readlink(path, $0, size) } ?? -1
          }
        }
        return max(0, count)
      }
      if count < 0 { SystemRefusals.note(errno) }
      // A target that fills the first buffer may be incomplete, so it is read again into the larger one.
      if count < size { return count > 0 ? target : nil }
    }
    return nil
  }

  /// The path of this program's file as the kernel shows it, with a trailing " (deleted)" if it has been deleted; nil
  /// if `/proc` does not show it.
  ///
  /// If the program was started by running the dynamic linker, the kernel shows the dynamic linker as the executable,
  /// so the path is then that of the mapping with the program's headers.
  package static var programPath: String? {
    let headers = pm_program_run_by_loader()
    guard headers != 0 else { return target("/proc/thread-self/exe") }
    return text("/proc/thread-self/maps").flatMap { path(of: headers, inMaps: $0) }
  }

  /// Returns the inode of one of this process's namespaces; nil if the kernel has no namespaces of that kind, or if
  /// `/proc` does not show them.
  ///
  /// The inode number is in the target text of the link in `/proc`. Following the link would take ten times as long,
  /// because the kernel would first create the inode.
  ///
  /// Source: namespaces(7), "pid:[4026531836]".
  static func namespace(_ kind: String) -> UInt64? {
    guard let text = target("/proc/thread-self/ns/" + kind).map({ Array($0.utf8) }),
      let start = text.firstIndex(of: UInt8(ascii: "[")),
      let end = text.firstIndex(of: UInt8(ascii: "]")), start < end
    else { return nil }
    return numberOfDigits(text[(start + 1)..<end], radix: 10)
  }

  /// Returns the path of an open file, with all links resolved; nil if `/proc` does not show the path.
  package static func path(of descriptor: Int32) -> String? {
    // The number is formatted by hand, because string interpolation touches three more pages at launch.
    var digits: [UInt8] = []
    var rest = UInt32(bitPattern: descriptor)
    repeat {
      digits.insert(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10), at: 0)
      rest /= 10
    } while rest > 0
    return target("/proc/thread-self/fd/" + String(decoding: digits, as: UTF8.self))
  }
}

/// Reads the system's clocks, in nanoseconds.
package enum SystemClock {
  /// The time since 1970.
  package static var now: Int64 { time(CLOCK_REALTIME) }
  /// The time since boot, including suspended time.
  package static var sinceBoot: Int64 { time(CLOCK_BOOTTIME) }
  /// The time since boot, without suspended time.
  package static var awakeSinceBoot: Int64 { time(CLOCK_MONOTONIC) }

  private static func time(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
