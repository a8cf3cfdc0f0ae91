internal import Glibc
package import IntermediateDump

/// A file descriptor that closes itself.
package struct OpenFile: ~Copyable, Sendable {
  package let descriptor: Int32
  /// For messages.
  package let path: String
  /// The last part of the path.
  package var name: String { path.split(separator: "/").last.map(String.init) ?? "" }

  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    _ = Glibc.close(descriptor)
  }

  package func status() throws(CrashReportDatabaseError) -> FileStatus {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw CrashReportDatabaseError(systemCall: "looking at \(path)", errno: errno)
    }
    return FileStatus(status)
  }

  /// Returns when the file's bytes, or the directory's entries, are on disk.
  package func synchronize() throws(CrashReportDatabaseError) {
    while fsync(descriptor) != 0 {
      // EINVAL: the file system does not synchronise this kind of file.
      if errno == EINVAL || errno == EROFS { return }
      guard errno == EINTR else {
        throw CrashReportDatabaseError(systemCall: "writing \(path) to the disk", errno: errno)
      }
    }
  }

  /// Appends bytes at the file's position, however many calls that takes.
  package func write(_ bytes: [UInt8]) throws(CrashReportDatabaseError) {
    var offset = 0
    while offset < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(
          descriptor, buffer.baseAddress.map { unsafe $0 + offset }, buffer.count - offset)
      }
      if count > 0 {
        offset += count
      } else if count == 0 || errno != EINTR {
        throw CrashReportDatabaseError(
          systemCall: "writing \(path)", errno: count == 0 ? EIO : errno)
      }
    }
  }

  /// Reads from the file's position to its end.
  ///
  /// - Parameter limit: the most bytes; a longer file is an error.
  package func read(limit: Int) throws(CrashReportDatabaseError) -> [UInt8] {
    let expected = max(0, min(Int(clamping: try status().size), limit)) + 1
    var bytes: [UInt8] = []
    var failure: Int32 = 0
    var chunk = expected
    while failure == 0, bytes.count <= limit {
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: chunk) { buffer, count in
        var result = -1
        repeat {
          result = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
        } while result < 0 && errno == EINTR
        if result < 0 { failure = errno }
        count = max(0, result)
      }
      if piece.isEmpty { break }
      if bytes.isEmpty { bytes = piece } else { bytes += piece }
      chunk = min(max(limit - bytes.count, 0) + 1, 64 << 10)
    }
    guard failure == 0 else {
      throw CrashReportDatabaseError(systemCall: "reading \(path)", errno: failure)
    }
    guard bytes.count <= limit else {
      throw CrashReportDatabaseError(.tooLarge, "\(path) has more than \(limit) bytes")
    }
    return bytes
  }

  /// The bytes of a dump: of a small one in memory, of a larger one as they are asked for.
  ///
  /// - Parameter limit: the most bytes; a longer file is an error.
  package func dumpBytes(limit: Int) throws(CrashReportDatabaseError) -> DumpBytes {
    let size = try status().size
    guard size <= limit else {
      throw CrashReportDatabaseError(.tooLarge, "\(path) has \(size) bytes, more than \(limit)")
    }
    if size <= DumpBytes.smallSize { return DumpBytes(try read(limit: limit)) }
    guard let bytes = DumpBytes(descriptor: descriptor, count: Int(clamping: size)) else {
      throw CrashReportDatabaseError(systemCall: "opening \(path)", errno: errno)
    }
    return bytes
  }

  /// Reads bytes at an offset, fewer where the file ends.
  package func read(at offset: Int64, count: Int) throws(CrashReportDatabaseError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var piece = [UInt8](repeating: 0, count: min(count - bytes.count, 256 << 10))
      let read = unsafe pread(descriptor, &piece, piece.count, off_t(offset) &+ off_t(bytes.count))
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else {
        throw CrashReportDatabaseError(systemCall: "reading \(path)", errno: errno)
      }
      if read == count { return piece }
      if read == 0 { break }
      bytes += piece.prefix(read)
    }
    return bytes
  }

  /// Writes a few bytes at an offset in one system call.
  package func write(_ bytes: [UInt8], at offset: Int64) throws(CrashReportDatabaseError) {
    var written = -1
    repeat {
      written = unsafe pwrite(descriptor, bytes, bytes.count, off_t(offset))
    } while written < 0 && errno == EINTR
    guard written == bytes.count else {
      throw CrashReportDatabaseError(
        systemCall: "writing \(path)", errno: written < 0 ? errno : EIO)
    }
  }
}

/// The part of stat(2) that this package uses.
package struct FileStatus: Sendable, Equatable {
  package enum Kind: Sendable {
    case regular
    case directory
    case symbolicLink
    case fifo
    case other
  }

  package let kind: Kind
  /// In bytes.
  package let size: Int64
  /// Nanoseconds since 1970.
  package let modificationTime: Int64
  /// Nanoseconds since 1970; set by a rename on most file systems.
  package let changeTime: Int64
  package let owner: UInt32
  package let device: UInt64
  package let inode: UInt64

  init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFLNK: .symbolicLink
      case S_IFIFO: .fifo
      default: .other
      }
    size = Int64(status.st_size)
    modificationTime = Self.nanoseconds(status.st_mtim)
    changeTime = Self.nanoseconds(status.st_ctim)
    owner = status.st_uid
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
  }

  // A file system can hold any number of seconds, beyond the range of nanoseconds in 64 bits.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let seconds = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    guard !seconds.overflow else { return time.tv_sec < 0 ? .min : .max }
    let sum = seconds.partialValue.addingReportingOverflow(Int64(time.tv_nsec))
    return sum.overflow ? .max : sum.partialValue
  }

  /// True if the file was not written to between two looks.
  package func isUnchanged(since other: FileStatus) -> Bool {
    size == other.size && modificationTime == other.modificationTime
  }

  /// True if both are the same file.
  package func isSameFile(as other: FileStatus) -> Bool {
    device == other.device && inode == other.inode
  }
}
