internal import Glibc
package import PendingDumps

/// Finds and opens the directory of a database, by the same rules as the handler.
enum DatabasePath {
  /// The absolute path of the database's directory, which is inside `path` if `path` is a mount point to which others
  /// may write.
  static func resolve(_ path: String) throws(CrashReportDatabaseError) -> String {
    DatabaseDirectory.place(try DatabaseDirectory.absolute(path))
  }

  /// True if a file of any kind exists at the path, or if the system does not show whether one exists.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 || errno != ENOENT
  }

  /// Opens the directory; throws if it cannot be opened, or if users other than this one, root, the database's owner
  /// and members of a shared group can add or replace files in it.
  static func open(
    _ path: String, creating: Bool = false
  ) throws(CrashReportDatabaseError) -> Directory {
    try DatabaseDirectory.open(path, creating: creating)
  }
}

extension Directory {
  /// Opens the directory that contains the reports with a given state.
  package func subdirectory(
    _ state: StoredReport.State, create: Bool = false
  ) throws(CrashReportDatabaseError) -> Directory {
    try subdirectory(state.rawValue, create: create)
  }
}
