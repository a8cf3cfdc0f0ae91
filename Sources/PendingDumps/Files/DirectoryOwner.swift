internal import Glibc

/// The user that a directory belongs to, where this process is root and that is another one.
///
/// Files that root makes there are given to that user, who could neither read nor replace them
/// otherwise. Ordinary code.
package struct DirectoryOwner: Sendable, Equatable {
  package let user: UInt32
  package let group: UInt32

  /// The owner of an open directory; nil where this process is not root, or the directory is root's.
  package init?(of directory: Int32) {
    var status = stat()
    guard unsafe fstat(directory, &status) == 0 else { return nil }
    self.init(status)
  }

  /// The same by its status.
  init?(_ status: stat) {
    guard status.st_uid != 0, geteuid() == 0 else { return nil }
    user = status.st_uid
    group = status.st_gid
  }

  /// Gives it an open file or directory, if that is root's.
  package func give(_ file: Int32) {
    var status = stat()
    guard unsafe fstat(file, &status) == 0, status.st_uid == 0 else { return }
    _ = fchown(file, user, group)
  }
}
