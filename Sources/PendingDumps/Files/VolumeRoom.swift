internal import Glibc

/// The size of a file system, and the space that is left on it for this user.
///
/// Dumps and reports each take at most a share of their file system, so that a small volume never fills up with them.
package struct VolumeRoom: Sendable, Equatable {
  /// The size in bytes; at least 1.
  package let size: Int64
  /// The number of free bytes.
  package let available: Int64

  /// The part of a file system that dumps may take, and that reports may take: one of this many.
  private static let shares: Int64 = 4
  /// A locked dump, its run record and its FIFO fit in this many bytes several times.
  private static let tightness: Int64 = 4 << 20

  package init(size: Int64, available: Int64) {
    (self.size, self.available) = (max(1, size), available)
  }

  /// Asks for the room on a directory's file system; nil if the file system does not say how large it is.
  ///
  /// Source: statvfs(3).
  package init?(of directory: Int32) {
    var status = statvfs()
    guard unsafe fstatvfs(directory, &status) == 0, status.f_blocks > 0, status.f_frsize > 0 else {
      return nil
    }
    func bytes(_ blocks: UInt) -> Int64 {
      let product = blocks.multipliedReportingOverflow(by: UInt(status.f_frsize))
      return product.overflow ? .max : Int64(clamping: product.partialValue)
    }
    self.init(size: bytes(UInt(status.f_blocks)), available: bytes(UInt(status.f_bavail)))
  }

  /// True if there may be too little room for the files of a handler's start.
  package var isTight: Bool { available < Self.tightness }

  /// The number of bytes that dumps, or reports, may take here.
  ///
  /// - Parameter maximum: the number of bytes that they may take on any file system.
  package func limit(_ maximum: Int64) -> Int64 { min(maximum, size / Self.shares) }
}
