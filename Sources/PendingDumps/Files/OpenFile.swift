package import Glibc
package import IntermediateDump

/// A file descriptor that is closed when this value is destroyed.
package struct OpenFile: ~Copyable, Sendable {
  package let descriptor: Int32
  /// The file's path, which messages show.
  package let path: String
  /// The status that the file had when a `Directory` created or opened it.
  package internal(set) var firstStatus: FileStatus?
  private var isKept = false

  package init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// The last part of the path.
  package var name: String { path.split(separator: "/").last.map(String.init) ?? "" }

  deinit {
    if !isKept { _ = Glibc.close(descriptor) }
  }

  /// Keeps the descriptor open until the process ends.
  package mutating func keep() { isKept = true }

  package func status() throws(CrashReportDatabaseError) -> FileStatus {
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else {
      throw CrashReportDatabaseError(systemCall: "looking at \(path)", errno: errno)
    }
    return FileStatus(status)
  }

  /// Waits until the file's bytes, or the directory's entries, are stored on disk.
  ///
  /// The call does nothing if the file system is read-only, or does not synchronize this kind of file.
  package func synchronize() throws(CrashReportDatabaseError) {
    while fsync(descriptor) != 0 {
      // EINVAL means that the file system does not synchronize this kind of file.
      if errno == EINVAL || errno == EROFS { return }
      guard errno == EINTR else {
        throw CrashReportDatabaseError(systemCall: "writing \(path) to the disk", errno: errno)
      }
    }
  }

  /// Writes all bytes at the file's position, with as many system calls as are needed.
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

  /// Returns the size of the file; throws if the file has more than `limit` bytes.
  private func size(limit: Int) throws(CrashReportDatabaseError) -> Int {
    let size = try status().size
    guard size <= limit else {
      throw CrashReportDatabaseError(.tooLarge, "\(path) has \(size) bytes, more than \(limit)")
    }
    return max(0, Int(clamping: size))
  }

  /// Reads the whole file.
  ///
  /// - Parameter limit: the maximum number of bytes; a longer file is an error.
  package func read(limit: Int) throws(CrashReportDatabaseError) -> [UInt8] {
    // One byte more than the size is requested, to find out whether the file has grown.
    let expected = try size(limit: limit) + 1
    var bytes = try read(at: 0, count: expected, piece: expected)
    if bytes.count == expected {
      bytes += try read(at: Int64(expected), count: limit + 1 - expected)
    }
    guard bytes.count <= limit else {
      throw CrashReportDatabaseError(.tooLarge, "\(path) has more than \(limit) bytes")
    }
    return bytes
  }

  /// Returns the bytes of a dump: reads a small dump completely, and a larger dump piece by piece when its bytes are
  /// used.
  ///
  /// - Parameter limit: the maximum number of bytes; a longer file is an error.
  package func dumpBytes(limit: Int) throws(CrashReportDatabaseError) -> DumpBytes {
    let size = try size(limit: limit)
    if size <= DumpBytes.smallSize { return DumpBytes(try read(limit: limit)) }
    guard let bytes = DumpBytes(descriptor: descriptor, count: size) else {
      throw CrashReportDatabaseError(systemCall: "opening \(path)", errno: errno)
    }
    return bytes
  }

  /// Reads bytes at an offset, or fewer at the end of the file.
  ///
  /// - Parameter size: the maximum number of bytes that one system call requests. Without this limit, a wrong `count`
  ///   in a damaged file could make this function allocate much memory.
  package func read(
    at offset: Int64, count: Int, piece size: Int = 256 << 10
  ) throws(CrashReportDatabaseError) -> [UInt8] {
    var bytes: [UInt8] = []
    while bytes.count < count {
      var piece = [UInt8](repeating: 0, count: min(count - bytes.count, size))
      let read = unsafe pread(descriptor, &piece, piece.count, off_t(offset) &+ off_t(bytes.count))
      if read < 0, errno == EINTR { continue }
      guard read >= 0 else {
        throw CrashReportDatabaseError(systemCall: "reading \(path)", errno: errno)
      }
      if read == 0 { break }
      piece.removeLast(piece.count - read)
      if bytes.isEmpty { bytes = piece } else { bytes += piece }
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

extension DumpBytes {
  /// Throws if a part of the file could not be read, because the dump is then incomplete.
  package func checkReads(of path: String) throws(CrashReportDatabaseError) {
    guard readError == 0 else {
      throw CrashReportDatabaseError(systemCall: "reading \(path)", errno: readError)
    }
  }
}

/// The results of stat(2) that this package uses.
package struct FileStatus: Sendable, Equatable {
  package enum Kind: Sendable {
    case regular
    case directory
    case fifo
    case other
  }

  package let kind: Kind
  /// The size in bytes.
  package let size: Int64
  /// The time of the last modification, in nanoseconds since 1970.
  package let modificationTime: Int64
  /// The time of the last status change (ctime) in nanoseconds since 1970; most file systems also set this time on a
  /// rename.
  package let changeTime: Int64
  package let owner: UInt32
  package let device: UInt64
  package let inode: UInt64
  /// The permissions and the special bits: the lowest 12 bits of the mode.
  package let mode: UInt32

  package init(_ status: stat) {
    kind =
      switch status.st_mode & S_IFMT {
      case S_IFREG: .regular
      case S_IFDIR: .directory
      case S_IFIFO: .fifo
      default: .other
      }
    size = Int64(status.st_size)
    modificationTime = Self.nanoseconds(status.st_mtim)
    changeTime = Self.nanoseconds(status.st_ctim)
    owner = status.st_uid
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    mode = UInt32(status.st_mode) & 0o7777
  }

  // The result is clamped, because the seconds that a file system stores may not fit in 64 bits as nanoseconds.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let seconds = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    guard !seconds.overflow else { return time.tv_sec < 0 ? .min : .max }
    let sum = seconds.partialValue.addingReportingOverflow(Int64(time.tv_nsec))
    return sum.overflow ? .max : sum.partialValue
  }

  /// True if size and modification time are the same as in a status that was read earlier.
  package func isUnchanged(since other: FileStatus) -> Bool {
    size == other.size && modificationTime == other.modificationTime
  }

  /// True if the file's device number is that of a block device.
  ///
  /// The file system is then local. Unlike overlayfs, it does not show the files of another file system. The result is
  /// false for Btrfs too, whose device numbers have the major number 0 although it is on a block device.
  ///
  /// Source: Linux include/uapi/linux/major.h, UNNAMED_MAJOR.
  package var isOnBlockDevice: Bool { device >> 8 & 0xFFF | device >> 32 & ~0xFFF != 0 }

  /// True if both statuses are of the same file.
  package func isSameFile(as other: FileStatus) -> Bool {
    device == other.device && inode == other.inode
  }
}
