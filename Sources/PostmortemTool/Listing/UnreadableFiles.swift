internal import CrashReportDatabase

/// The files of a database that could not be read, and that a command therefore left out.
struct UnreadableFiles {
  private static let maximumShown = 8

  private let database: String
  private var texts: [String] = []
  private var seen: Set<String> = []

  /// - Parameter database: the path of the database.
  init(of database: String) { self.database = database }

  init(of database: String, _ errors: [CrashReportDatabaseError]) {
    self.init(of: database)
    errors.forEach { add($0) }
  }

  mutating func add(_ error: CrashReportDatabaseError) {
    if seen.insert(error.description).inserted { texts.append(error.description) }
  }

  /// Ends the command with status 2 if some files could not be read; called after the command has done everything else.
  func check() throws(ToolError) {
    if let error { throw error }
  }

  /// Prints the errors, for a command that has also failed for another reason; returns the error that ends the
  /// command with status 1.
  var printed: ToolError {
    if let error { Terminal.printError(error.description) }
    return .printed
  }

  private var error: ToolError? {
    guard !texts.isEmpty else { return nil }
    let shown = texts.prefix(Self.maximumShown)
    let rest = texts.count - shown.count
    return ToolError(
      path: database,
      "left out \(texts.count) \(texts.count == 1 ? "file" : "files") that could not be read: "
        + shown.joined(separator: "; ") + (rest > 0 ? "; and \(rest) more" : ""), exitStatus: 2)
  }
}
