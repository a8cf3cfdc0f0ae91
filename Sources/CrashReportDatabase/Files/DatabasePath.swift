internal import Glibc
internal import PendingDumps

/// Finds and opens the directory of a database, by the rules that the handler has too.
enum DatabasePath {
  /// The database's own path, from the root.
  static func resolve(_ path: String) throws(CrashReportDatabaseError) -> String {
    do throws(DatabaseDirectory.Failure) {
      return DatabaseDirectory.place(try DatabaseDirectory.absolute(path))
    } catch {
      throw CrashReportDatabaseError(error)
    }
  }

  /// True if there is a file of any kind, or the system does not say.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 || errno != ENOENT
  }

  /// Opens the directory if no other user but root can plant or exchange files in it.
  static func open(
    _ path: String, creating: Bool = false
  ) throws(CrashReportDatabaseError) -> Directory {
    do throws(DatabaseDirectory.Failure) {
      return Directory(
        descriptor: try DatabaseDirectory.open(path, creating: creating), path: path)
    } catch {
      throw CrashReportDatabaseError(error)
    }
  }
}

extension CrashReportDatabaseError {
  init(_ failure: DatabaseDirectory.Failure) {
    switch failure.kind {
    case .invalidPath: self.init(.invalidPath, failure.context, errno: failure.errno)
    case .notADirectory: self.init(.notADirectory, failure.context, errno: failure.errno)
    case .foreignOwner: self.init(.foreignOwner, failure.context, errno: failure.errno)
    case .writableByOthers: self.init(.writableByOthers, failure.context, errno: failure.errno)
    case .system: self.init(systemCall: failure.context, errno: failure.errno)
    }
  }
}
