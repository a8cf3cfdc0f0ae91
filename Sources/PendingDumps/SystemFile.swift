internal import Glibc

/// Reads the files of the system (/proc, /sys, /etc) in ordinary code; crash code has `ProcFile`.
///
/// Most have no size and are read to their end.
package enum SystemFile {
  /// The bytes of a file, at most `limit`; nil if it cannot be read.
  package static func bytes(_ path: String, limit: Int = 1 << 20) -> [UInt8]? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var contents: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: min(limit, 16384))
    while contents.count < limit {
      let count = unsafe read(descriptor, &piece, min(piece.count, limit - contents.count))
      if count < 0 {
        if errno == EINTR { continue }
        return nil
      }
      if count == 0 { break }
      contents += piece[..<count]
    }
    return contents
  }

  /// The same as text.
  package static func text(_ path: String) -> String? {
    bytes(path).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The integer that is all of a file; nil for any other text.
  package static func integer(_ path: String) -> UInt64? {
    text(path).flatMap { UInt64($0.hasSuffix("\n") ? $0.dropLast() : $0[...]) }
  }

  /// The number behind a name at the start of a line, as in `/proc/vmstat` and `/proc/meminfo`.
  package static func number(_ name: String, in text: String?) -> UInt64? {
    for line in text?.split(separator: "\n") ?? [] {
      let words = line.split(whereSeparator: \.isWhitespace)
      if words.count > 1, words[0] == name { return UInt64(words[1]) }
    }
    return nil
  }

  /// The target of a symbolic link; nil if it cannot be read.
  package static func target(_ path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe readlink(path, $0.baseAddress!, $0.count)
    }
    return count > 0 ? String(decoding: buffer[..<count], as: UTF8.self) : nil
  }

  /// The inode of a file, or of a link's target; nil if there is none.
  package static func inode(_ path: String) -> UInt64? {
    var status = stat()
    return unsafe stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
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
