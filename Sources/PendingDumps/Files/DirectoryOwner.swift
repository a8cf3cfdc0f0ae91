internal import Glibc

/// The owner of a directory that belongs to another user, if this process is root.
///
/// Files that root creates in the directory are given to the directory's owner, who could otherwise neither read nor
/// replace them. This type is only for ordinary code, not for signal handlers.
package struct DirectoryOwner: Sendable, Equatable {
  package let user: UInt32
  package let group: UInt32

  /// The owner of an open directory; nil if this process is not root or the directory belongs to root.
  package init?(of directory: Int32) {
    var status = stat()
    guard unsafe fstat(directory, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The owner of a directory that has the given status.
  init?(_ status: stat) {
    guard status.st_uid != 0, geteuid() == 0 else { return nil }
    user = status.st_uid
    group = status.st_gid
  }

  /// Gives an open file or directory that belongs to root to the directory's owner.
  package func give(_ file: Int32) {
    var status = stat()
    guard unsafe fstat(file, &status) == 0, status.st_uid == 0 else { return }
    _ = fchown(file, user, group)
  }
}
