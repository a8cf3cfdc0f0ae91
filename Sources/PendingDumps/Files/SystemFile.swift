internal import Glibc
internal import IntermediateDump

/// Reads the files of the system (/proc, /sys, /etc) in ordinary code; crash code has `ProcReader`.
///
/// This process's files are read by `/proc/thread-self`: once the first thread has ended, `/proc/self` shows neither
/// memory nor descriptors nor namespaces. But its start time is that of `/proc/self/stat`.
///
/// Most have no size and are read to their end.
package enum SystemFile {
  private static let pieceSize = 16384

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - path: of the file.
  ///   - limit: of the bytes that are returned.
  ///   - isOneRecord: true where the first read gives all that is wanted, as with files of `/proc`
  ///     that the kernel makes in one piece.
  /// - Returns: its bytes; nil if it cannot be read.
  package static func bytes(
    _ path: String, limit: Int = 1 << 20, isOneRecord: Bool = false
  ) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      SystemRefusals.note(errno)
      return nil
    }
    defer { close(descriptor) }
    let first = piece(of: descriptor, size: min(limit, pieceSize), isOneRecord: isOneRecord)
    guard var contents = first else { return nil }
    // A piece that is not full was the last one.
    while !isOneRecord, contents.count % pieceSize == 0, !contents.isEmpty, contents.count < limit {
      let size = min(limit - contents.count, pieceSize)
      guard let next = piece(of: descriptor, size: size, isOneRecord: false) else { return nil }
      if next.isEmpty { break }
      contents += next
    }
    return contents
  }

  /// Reads until there are as many bytes as a piece has, or no more; nil where that fails.
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

  /// The same as text.
  package static func text(_ path: String, isOneRecord: Bool = false) -> String? {
    bytes(path, isOneRecord: isOneRecord).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The integer that is all of a file; nil for any other text.
  package static func integer(_ path: String) -> UInt64? {
    text(path, isOneRecord: true).flatMap(integer(of:))
  }

  /// The same of the bytes at the start of an open file, wherever its offset is.
  package static func integer(_ descriptor: Int32) -> UInt64? {
    var digits: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    return unsafe withUnsafeMutableBytes(of: &digits) { buffer in
      let count = unsafe pread(descriptor, buffer.baseAddress, buffer.count, 0)
      guard count > 0 else { return nil }
      return unsafe integer(of: String(decoding: buffer.prefix(count), as: UTF8.self))
    }
  }

  /// Reads a number without the line feed that files of /proc end with.
  private static func integer(of text: String) -> UInt64? {
    UInt64(digits: text.utf8.last == UInt8(ascii: "\n") ? text.dropLast() : text[...])
  }

  /// The number behind a name at the start of a line of a file that comes in pieces, which is read no further.
  package static func number(_ name: String, inFile path: String) -> UInt64? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      SystemRefusals.note(errno)
      return nil
    }
    defer { close(descriptor) }
    var text: [UInt8] = []
    while text.count < 1 << 20,
      let piece = piece(of: descriptor, size: pieceSize, isOneRecord: true), !piece.isEmpty
    {
      text += piece
      // A line that is not whole may end in the midst of its number.
      let whole = text[...(text.lastIndex(of: UInt8(ascii: "\n")) ?? 0)]
      if let number = number(name, in: String(decoding: whole, as: UTF8.self)) { return number }
    }
    return nil
  }

  /// The number behind a name at the start of a line, as in `/proc/vmstat` and `/proc/meminfo`.
  package static func number(_ name: String, in text: String?) -> UInt64? {
    guard let text else { return nil }
    let name = Array(name.utf8)
    // Bytes of the name that the line has had; nil in another line.
    var matched: Int? = 0
    var value: UInt64?
    for byte in text.utf8 {
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

  /// The target of a symbolic link; nil if it cannot be read.
  package static func target(_ path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe readlink(path, $0.baseAddress!, $0.count)
    }
    if count < 0 { SystemRefusals.note(errno) }
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  /// The inode of one of this process's namespaces; nil where the kernel has none of the kind.
  ///
  /// The link says it; following the link would make the inode first, ten times as long.
  ///
  /// Source: namespaces(7), "pid:[4026531836]".
  static func namespace(_ kind: String) -> UInt64? {
    guard var text = target("/proc/thread-self/ns/" + kind)?[...],
      text.cut(before: UInt8(ascii: "[")) != nil,
      let digits = text.cut(before: UInt8(ascii: "]"))
    else { return nil }
    return UInt64(digits: digits)
  }
}

/// Reads the system's clocks, in nanoseconds.
package enum SystemClock {
  /// Since 1970.
  package static var now: Int64 { time(CLOCK_REALTIME) }
  /// Since boot, time asleep included.
  package static var sinceBoot: Int64 { time(CLOCK_BOOTTIME) }
  /// Since boot, time asleep left out.
  package static var awakeSinceBoot: Int64 { time(CLOCK_MONOTONIC) }

  private static func time(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
