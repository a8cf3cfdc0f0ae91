internal import CrashReportDatabase

/// Opens a database that must be there already: a mistyped path must not leave folders behind.
enum Database {
  static func open(_ path: String) throws -> CrashReportDatabase {
    guard InputFile.isFolder(path) else { throw ToolError(path: path, "no such folder") }
    guard InputFile.isFolder(path + "/pending") else {
      throw ToolError(path: path, "not a report database: it has no folder 'pending'")
    }
    return try CrashReportDatabase(path: path)
  }
}
