internal import Glibc

/// What stat(2) says of a file, as far as this package asks.
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

  // A file system can hold any number of seconds, years past the range of nanoseconds in 64 bits.
  private static func nanoseconds(_ time: timespec) -> Int64 {
    let seconds = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    guard !seconds.overflow else { return time.tv_sec < 0 ? .min : .max }
    let sum = seconds.partialValue.addingReportingOverflow(Int64(time.tv_nsec))
    return sum.overflow ? .max : sum.partialValue
  }

  /// True if nobody has written to the file between two looks.
  package func isUnchanged(since other: FileStatus) -> Bool {
    size == other.size && modificationTime == other.modificationTime
  }

  /// True if both are the same file.
  package func isSameFile(as other: FileStatus) -> Bool {
    device == other.device && inode == other.inode
  }
}
