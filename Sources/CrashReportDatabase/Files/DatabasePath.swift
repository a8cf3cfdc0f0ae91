internal import Glibc

/// Checks and makes the directory of a database.
enum DatabasePath {
  /// The path from the root, without slashes at its end.
  static func absolute(_ path: String) throws(CrashReportDatabaseError) -> String {
    guard !path.isEmpty else {
      throw CrashReportDatabaseError(.invalidPath, "the database's path is empty")
    }
    guard !path.utf8.contains(0) else {
      throw CrashReportDatabaseError(.invalidPath, "the database's path has a NUL character")
    }
    var result = path
    if !path.hasPrefix("/") {
      var buffer = [CChar](repeating: 0, count: 4096)
      guard unsafe getcwd(&buffer, buffer.count) != nil else {
        throw CrashReportDatabaseError(
          systemCall: "finding the current directory for \(path); give an absolute path",
          errno: errno)
      }
      let current = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
      result = String(decoding: current, as: UTF8.self) + "/" + path
    }
    // With a slash at the end the system would follow a link before it is checked.
    while result.utf8.count > 1, result.hasSuffix("/") { result.removeLast() }
    return result
  }

  /// Makes the directory and missing ones above it.
  static func makeDirectories(_ path: String) throws(CrashReportDatabaseError) {
    if unsafe mkdir(path, 0o700) == 0 {
      // The umask may have taken away the owner's own permissions.
      _ = unsafe chmod(path, 0o700)
      return
    }
    let failure = errno
    if failure == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex {
      try makeDirectories(String(path[..<slash]))
      guard unsafe mkdir(path, 0o700) != 0 else {
        _ = unsafe chmod(path, 0o700)
        return
      }
    }
    // A file of that name is checked when it is opened.
    var status = stat()
    guard unsafe lstat(path, &status) != 0 else { return }
    throw CrashReportDatabaseError(systemCall: "making the directory \(path)", errno: failure)
  }

  /// True if there is a file of any kind, or the system does not say.
  static func exists(_ path: String) -> Bool {
    var status = stat()
    return unsafe lstat(path, &status) == 0 || errno != ENOENT
  }

  /// Opens the directory if no other user but root made it or can exchange it.
  static func open(_ path: String) throws(CrashReportDatabaseError) -> Directory {
    var status = stat()
    guard unsafe lstat(path, &status) == 0 else {
      throw CrashReportDatabaseError(systemCall: "looking at \(path)", errno: errno)
    }
    let found = FileStatus(status)
    if found.kind == .symbolicLink {
      try checkOwner(found, "the symbolic link \(path)")
    } else if found.kind != .directory {
      throw notADirectory(path)
    }
    do {
      let directory = try Directory(path: path)
      try checkOwner(try directory.status(), "the directory \(path)")
      return directory
    } catch  where error.errno == ENOTDIR {
      throw notADirectory(path)
    }
  }

  private static func notADirectory(_ path: String) -> CrashReportDatabaseError {
    CrashReportDatabaseError(
      .notADirectory, "\(path) is not a directory; name one, or a path where one can be made")
  }

  /// Directories of root are a container's usual volumes; 65534 stands for users outside a user
  /// namespace.
  private static func checkOwner(
    _ status: FileStatus, _ what: String
  ) throws(CrashReportDatabaseError) {
    let user = geteuid()
    guard status.owner == user || status.owner == 0 || status.owner == 65534 else {
      // Root may read anybody's database, but follows nobody else's links to it.
      if user == 0, status.kind == .directory { return }
      throw CrashReportDatabaseError(
        .foreignOwner,
        "\(what) belongs to user \(status.owner), this process is user \(user); give it to user "
          + "\(user) or choose another path")
    }
  }
}
