internal import Foundation
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
  func database() throws(ToolError) -> String {
    guard let path = operands.first else { return try requiredDatabase() }
    if self["--database"] != nil { throw twice(path) }
    if !path.isPath { warnOfWord(path) }
    return path
  }

  /// The databases of a command that takes several databases.
  func databases() throws(ToolError) -> [String] {
    let all = values(of: "--database") + operands
    guard !all.isEmpty else { return [try requiredDatabase()] }
    for word in operands where !word.isPath { warnOfWord(word) }
    return all
  }

  /// The database and the report IDs of a command that changes or sends reports.
  ///
  /// - Parameter needsIDs: true for a command that does nothing without an ID.
  /// - Throws: `ToolError` for a word that may be either a directory, as in version 1.0.0, or an ID, because a command
  ///   must not guess what to change.
  func databaseAndIDs(needsIDs: Bool) throws(ToolError) -> (path: String, ids: ArraySlice<String>) {
    guard let first = operands.first else {
      return (try requiredDatabase(), [])
    }
    if let path = self["--database"] {
      if first.isPath { throw twice(first) }
      return (path, operands[...])
    }
    if first.isPath { return (first, operands.dropFirst()) }
    guard let path = ReportDatabase.ofEnvironment else {
      if needsIDs, operands.count == 1 { throw missingDatabase() }
      warnOfWord(first)
      return (first, operands.dropFirst())
    }
    // A single operand must be an ID, because the command needs an ID.
    if needsIDs, operands.count == 1 { return (path, operands[...]) }
    guard ReportDatabase.isBeginningOfID(first) else {
      warnOfWord(first)
      return (first, operands.dropFirst())
    }
    guard !InputFile.isDirectory(first) else {
      throw usage(
        "'\(first)' may be the directory ./\(first) or a report ID: use --database \(first) for the "
          + "directory, or --database \(path.quotedForShell) for the ID")
    }
    return (path, operands[...])
  }

  /// Warns that a word without a slash was treated as the directory of the database.
  func warnOfWord(_ word: String) {
    let quoted = ("./" + word).quotedForShell
    warn(
      "'\(word.escapedForMessage)' is treated as a directory, as in version 1.0.0: use \(quoted) or "
        + "--database \(word.quotedForShell); version 2.0 will require a slash in it")
  }

  func missingDatabase() -> ToolError {
    usage("no database given: use --database DIR, or set \(ReportDatabase.variable)")
  }

  func twice(_ path: String) -> ToolError {
    usage("two databases given: --database and '\(path.escapedForMessage)'")
  }

  func requiredDatabase() throws(ToolError) -> String {
    guard let path = namedDatabase else { throw missingDatabase() }
    return path
  }
}
