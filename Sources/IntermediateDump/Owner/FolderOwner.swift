internal import Glibc

/// The user that a folder belongs to, where this process is root and that is another one: whatever
/// it makes there is given to that user, who could neither read nor replace it otherwise.
///
/// Ordinary code.
package struct FolderOwner: Sendable, Equatable {
  package let user: UInt32
  package let group: UInt32

  /// The owner of an open folder; nil where this process is not root, or the folder is root's.
  package init?(of folder: Int32) {
    var status = stat()
    guard geteuid() == 0, unsafe fstat(folder, &status) == 0, status.st_uid != 0 else { return nil }
    user = status.st_uid
    group = status.st_gid
  }

  /// Gives it an open file or folder, if that is root's.
  package func give(_ file: Int32) {
    var status = stat()
    guard unsafe fstat(file, &status) == 0, status.st_uid == 0 else { return }
    _ = fchown(file, user, group)
  }
}
