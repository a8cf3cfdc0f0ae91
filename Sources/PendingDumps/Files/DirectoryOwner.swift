internal import Glibc

/// The user who owns a directory, if this process is root and that user is not.
///
/// Files that root creates in the directory are given to this user, who could otherwise neither read nor change
/// them. Signal handlers must not use this type.
package struct DirectoryOwner: Sendable, Equatable {
  package let user: UInt32
  package let group: UInt32

  /// Finds the owner of an open directory; nil if this process is not root, the directory belongs to root, or its owner
  /// cannot be read.
  package init?(of directory: Int32) {
    var status = stat()
    guard unsafe fstat(directory, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Takes the owner from a directory's status; nil if this process is not root or the directory belongs to root.
  init?(_ status: stat) {
    guard status.st_uid != 0, geteuid() == 0 else { return nil }
    user = status.st_uid
    group = status.st_gid
  }

  /// Makes this user the owner of an open file or directory that belongs to root.
  package func give(_ file: Int32) {
    var status = stat()
    guard unsafe fstat(file, &status) == 0, status.st_uid == 0 else { return }
    _ = fchown(file, user, group)
  }
}
