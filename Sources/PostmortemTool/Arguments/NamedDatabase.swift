internal import Glibc
internal import PendingDumps

// The rules by which a command line names its database. Docs/Decisions/28-command-line.md has the reasons.

extension String {
  /// True for a word that can only be a path, because it has a slash, or is `.` or `..`.
  var isPath: Bool { contains("/") || self == "." || self == ".." }

  /// The text, quoted so that a shell reads it as one word.
  var quotedForShell: String {
    let plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:@,"
    if !isEmpty, allSatisfy(plain.contains) { return self }
    return "'" + replacing("'", with: "'\\''").escapedForMessage + "'"
  }

  /// This path as the database operand of a command that a message recommends; empty if the environment names this
  /// database.
  ///
  /// The text begins with a space, so that it can follow the other words of the command.
  var asDatabaseOperand: String {
    if let known = ReportDatabase.ofEnvironment {
      let identity = InputFile.identity(of: DatabaseDirectory.place(known))
      if self == known || (!identity.isEmpty && identity == InputFile.identity(of: self)) {
        return ""
      }
    }
    return " " + (isPath ? self : "./" + self).quotedForShell
  }
}

extension Arguments {
  /// The database that `--database` or the environment names; nil if neither does.
  var namedDatabase: String? { self["--database"] ?? ReportDatabase.ofEnvironment }

  /// The path of the database, for a command that takes no operand other than the database.
  ///
  /// - Parameter isReading: true for a command that only reads, which may find the database itself.
  func database(isReading: Bool = false) throws(ToolError) -> String {
    guard let path = operands.first else { return try unnamedDatabase(isReading) }
    if self["--database"] != nil { throw twice(path) }
    guard path.isPath else { throw noPath(path) }
    return path
  }

  /// The databases of a command that reads several databases.
  func databases() throws(ToolError) -> [String] {
    let all = values(of: "--database") + operands
    guard !all.isEmpty else { return [try databaseToRead()] }
    for word in operands where !word.isPath { throw noPath(word) }
    return all
  }

  /// The database and the other operands, for a command that takes IDs or other words that name reports.
  func databaseAndWords(
    isReading: Bool = false
  ) throws(ToolError) -> (path: String, words: ArraySlice<String>) {
    guard let first = operands.first, first.isPath else {
      return (try unnamedDatabase(isReading), operands[...])
    }
    if self["--database"] != nil { throw twice(first) }
    return (first, operands.dropFirst())
  }

  /// The database of a command that only reads.
  func databaseToRead() throws(ToolError) -> String {
    if let path = self["--database"] { return path }
    if let path = try unnamedDatabaseToRead() { return path }
    return try requiredDatabase()
  }

  /// The database that the environment names or else the one in a usual place, which a line on standard error then
  /// names; nil if there is none.
  func unnamedDatabaseToRead() throws(ToolError) -> String? {
    if let path = ReportDatabase.ofEnvironment { return path }
    guard let path = try ReportDatabase.found(in: ReportDatabase.usualPlaces) else { return nil }
    if !has("--quiet") { warn("no database given; reading \(path.escapedForMessage)") }
    return path
  }

  private func unnamedDatabase(_ isReading: Bool) throws(ToolError) -> String {
    isReading ? try databaseToRead() : try requiredDatabase()
  }

  /// The error for a word without a slash where a command expects a directory.
  func noPath(_ word: String) -> ToolError {
    usage(
      "'\(word.escapedForMessage)' has no slash: to name a directory, use "
        + "\(("./" + word).quotedForShell) or --database \(word.quotedForShell)")
  }

  func twice(_ path: String) -> ToolError {
    usage("two databases given: --database and '\(path.escapedForMessage)'")
  }

  func requiredDatabase() throws(ToolError) -> String {
    guard let path = namedDatabase else {
      throw usage("no database given: use --database DIR, or set \(ReportDatabase.variable)")
    }
    return path
  }
}
