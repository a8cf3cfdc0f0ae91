internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot

/// The file that `show` and `debug` read: a report of a database, a dump that waits in a database, or a file given by
/// its path.
struct ShownFile {
  let path: String
  /// The database's path and the dump, if the file is a dump that waits for its conversion; nil for any other file.
  private var waiting: (database: String, dump: WaitingDump)?
  /// The database's path and the report's ID; nil for a file that is not a report of a database.
  private var stored: (database: String, id: ReportID)?

  private init(path: String) { self.path = path }

  /// Finds the file that a command line means.
  init(_ arguments: Arguments) throws {
    let words = arguments.operands[...]
    if let database = arguments["--database"] {
      if let first = words.first, first.isPath { throw arguments.twice(first) }
      self = try Self.selected(words, in: database, arguments)
      return
    }
    guard let first = words.first else {
      self = try Self.selected([], in: arguments.databaseToRead(), arguments)
      return
    }
    if first.isPath {
      if words.count == 1, !InputFile.isDirectory(first) {
        self.init(path: first)
      } else {
        self = try Self.selected(words.dropFirst(), in: first, arguments)
      }
      return
    }
    guard words.count == 1 else {
      throw arguments.usage(
        "unexpected argument '\(words[1].escapedForMessage)': only one report at a time")
    }
    self = try Self.named(first, arguments)
  }

  /// Finds the file that one word without a slash means.
  private static func named(_ word: String, _ arguments: Arguments) throws -> ShownFile {
    let hasDumpsName = word.hasSuffix(".dmp") || PendingDumpName(fileName: word) != nil
    if hasDumpsName, InputFile.exists(word) { return ShownFile(path: word) }
    guard let database = try arguments.unnamedDatabaseToRead() else {
      guard InputFile.exists(word), !InputFile.isDirectory(word) else {
        throw arguments.usage(
          "no file '\(word.escapedForMessage)', and no database to search for that report: use "
            + "--database DIR, or set \(ReportDatabase.variable)")
      }
      return ShownFile(path: word)
    }
    if word.isEmpty { throw arguments.usage("an empty argument names no report") }
    let selection = try ReportSelection(database, arguments)
    if let found = try selection.find(word) { return ShownFile(found, database) }
    guard InputFile.exists(word), !InputFile.isDirectory(word) else {
      throw missing(word, database)
    }
    return ShownFile(path: word)
  }

  private static func selected(
    _ words: ArraySlice<String>, in database: String, _ arguments: Arguments
  ) throws -> ShownFile {
    if words.count > 1 { throw arguments.unexpected(words.last ?? "") }
    if words.first == "" { throw arguments.usage("an empty argument names no report") }
    guard let found = try ReportSelection(database, arguments).find(words.first) else {
      throw missing(words.first, database, arguments)
    }
    return ShownFile(found, database)
  }

  private init(_ candidate: ReportSelection.Candidate, _ database: String) {
    self.init(path: candidate.path)
    waiting = candidate.waiting.map { (database, $0) }
    if waiting == nil { stored = (database, candidate.id) }
  }

  private static func missing(
    _ word: String?, _ database: String, _ arguments: Arguments? = nil
  ) -> ToolError {
    let isFiltered = arguments?["--program"] != nil || arguments?["--pid"] != nil
    guard let word else {
      let place = (try? ReportDatabase.place(database)) ?? database
      return ToolError(
        path: database,
        isFiltered
          ? "no such report"
          : (["no report"] + DatabaseRest(of: place).notes).joined(separator: "; "))
    }
    return ToolError(
      path: database,
      "no report \(word): it matches no ID, process ID or program; see postmortem list"
        + database.asDatabaseOperand)
  }

  /// Prints on standard error that the shown dump is not a report yet.
  func remark(_ arguments: Arguments) {
    guard let waiting else { return }
    arguments.warn(waiting.dump.remark(database: waiting.database))
  }

  /// Stores facts that symbols of this reader have improved, so that lists show them too.
  ///
  /// A failure is ignored, because the index is only a cache.
  func keepFacts(of report: CrashReport) {
    if let known = report.snapshot.storedVerdict, report.place == known.place { return }
    guard let stored, let place = try? ReportDatabase.place(stored.database),
      let database = try? CrashReportDatabase(existing: place),
      let directory = try? database.open(), let file = try? database.report(stored.id)
    else { return }
    let facts = ReportFacts(of: report.snapshot, report.verdict, isNamed: true)
    guard ReportIndex(in: directory).facts(of: file) != facts else { return }
    ReportIndex.append([(ReportIndex.Key(of: file), facts)], in: directory)
  }

  /// Reads the file; if a converter has taken the dump in the meantime, the file is searched for again.
  static func read(_ arguments: Arguments) throws -> (file: CrashFile, found: ShownFile) {
    let found = try ShownFile(arguments)
    let file: CrashFile
    do throws(ToolError) {
      file = try CrashFile(at: found.path, arguments.coreSource)
    } catch {
      guard !InputFile.exists(found.path) else { throw error }
      let again = try ShownFile(arguments)
      guard again.path != found.path else { throw error }
      again.remark(arguments)
      return (try CrashFile(at: again.path, arguments.coreSource), again)
    }
    found.remark(arguments)
    return (file, found)
  }
}
