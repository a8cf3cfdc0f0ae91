internal import CSignalSafe
internal import CrashReportDatabase
package import IntermediateDump
internal import PendingDumps
internal import ProcessSnapshot
package import Stackwalk

/// Makes a report from one dump in the pending directory.
///
/// - Parameters:
///   - reportID: the report ID in the name of the dump's file.
///   - path: the database's directory.
///   - annotations: added to the report; they replace the dump's annotations of the same names.
///   - storingSymbols, userStreams: see the same parameters of `processIntermediateDumps`.
///   - files: the files of the process that wrote the dump, which are read rather than the files at the modules' paths.
/// - Returns: the outcome, or the reason why the dump is left for now; nil if the directory has no such dump, for
///   example because another converter took the dump.
/// - Throws: `CrashConverterError` only if no dump can be processed at all.
package func processIntermediateDump(
  _ reportID: ReportID, database path: String, annotations: [String: String] = [:],
  storingSymbols: Bool = true, userStreams: [any UserStreamDataSource] = [],
  files processFiles: ProcessFiles? = ProcessFiles(of: "self"), tasks: AllTasks? = nil,
  fileLocks: [FileLockWait] = [], contextSwitches: ContextSwitches? = nil
) throws(CrashConverterError) -> ProcessedDump? {
  try withOwnersRights(to: path) { () throws(CrashConverterError) in
    let database = try openDatabase(path)
    let pending = try openPendingDirectory(of: database, identifier: nil)
    do throws(CrashReportDatabaseError) {
      let files = try pending.dumps(among: pending.files())
      guard let file = files.first(where: { $0.name.reportID == reportID }) else { return nil }
      let conversion = DumpConversion(
        database: database, annotations: annotations,
        symbols: storingSymbols ? SymbolBudget(process: processFiles) : nil,
        userStreams: UserStreams(sources: userStreams), tasks: tasks,
        fileLocks: fileLocks, contextSwitches: contextSwitches)
      return process(file, conversion, pending)
    } catch {
      throw CrashConverterError(.pendingDirectoryUnusable, error)
    }
  }
}

/// Makes a report from a dump at any path, such as one that `dumpWithoutCrash(to:)` wrote.
///
/// The dump is first copied to the pending directory and then removed from its original path. So a failed or
/// interrupted conversion is tried again like any other. A second call for the same dump makes no second report.
///
/// - Parameters:
///   - file: the dump's path.
///   - path: the database's directory.
///   - annotations: added to the report; they replace the dump's annotations of the same names.
///   - storingSymbols, userStreams: see the same parameters of `processIntermediateDumps`.
/// - Returns: the outcome; nil if another converter claimed the dump first.
/// - Throws: `CrashConverterError` if the file cannot be read, is not a dump, does not name its program or belongs to
///   another user, or if the database cannot be used. The dump is then still at its path or in the pending directory.
///
/// Source: Crashpad `client/crashpad_client_ios.cc`, ProcessIntermediateDump.
package func processIntermediateDump(
  at file: String, database path: String, annotations: [String: String] = [:],
  storingSymbols: Bool = true, userStreams: [any UserStreamDataSource] = []
) throws(CrashConverterError) -> ProcessedDump? {
  let reportID: ReportID
  do throws(CrashReportDatabaseError) {
    let database = try CrashReportDatabase(path: path)
    let slash = file.lastIndex(of: "/")
    let directory = try Directory(path: slash.map { String(file[..<$0]) + "/." } ?? ".")
    let name = String(slash.map { file[file.index(after: $0)...] } ?? file[...])
    let source = try directory.open(name)
    // The dump's copy in the database belongs to this user. So another user's dump is refused: its attachments would be
    // opened with this user's permissions.
    let status = try source.status()
    guard status.owner == pm_file_user() else {
      throw CrashReportDatabaseError(
        .foreignOwner, "\(file) is another user's; have that user process it")
    }
    let bytes = try source.read(limit: DumpConversion.maximumSize)
    guard var target = PendingDumpName(of: bytes) else {
      throw CrashReportDatabaseError(.fileSystemError, "\(file) names no program or report ID")
    }
    let root = try database.open()
    let pending = try root.subdirectory(PendingDumpName.directory, create: true)
    if try !pending.put(bytes, as: target.description, by: pending, replacing: false),
      try pending.contents(of: target.description, limit: DumpConversion.maximumSize) != bytes
    {
      // If another dump already has this name, this dump gets a new name.
      target = target.other(for: DumpDigest.of(bytes))
      _ = try pending.put(bytes, as: target.description, by: pending, replacing: true)
    }
    reportID = target.reportID
    try pending.synchronize()
    // Do not remove the dump if it is itself the file in the pending directory.
    let copy = try pending.status(of: target.description)
    if copy?.device != status.device || copy?.inode != status.inode { try directory.remove(name) }
  } catch {
    throw CrashConverterError(.dumpUnusable, error)
  }
  return try processIntermediateDump(
    reportID, database: path, annotations: annotations, storingSymbols: storingSymbols,
    userStreams: userStreams)
}

extension ProcessFiles {
  /// - Parameter process: the name of the process's directory in `/proc`: an ID, or "self".
  package init(of process: String) {
    let directory = "/proc/\(process)"
    self.init(
      directory: directory, executable: SystemFile.target("\(directory)/exe"),
      maps: SystemFile.bytes("\(directory)/maps", limit: 16 << 20) ?? [])
  }
}

extension PendingDumpName {
  /// The name of a finished dump, derived from the dump's contents.
  fileprivate init?(of bytes: [UInt8]) {
    guard let document = try? IntermediateDumpDocument(parsing: bytes) else { return nil }
    var identifier: String?
    var reportID: ReportID?
    for map in document.root.maps(.process) {
      identifier = map.text(.identifier) ?? identifier
      reportID = map.data(.reportID).flatMap { ReportID(bytes: $0) } ?? reportID
    }
    guard let identifier, let reportID else { return nil }
    self.init(identifier: identifier, reportID: reportID, role: .finished)
  }

  /// The name for a second dump with the same report ID; its ID is made from this ID and the second dump's digest.
  fileprivate func other(for digest: UInt64) -> PendingDumpName {
    PendingDumpName(
      identifier: identifier, reportID: reportID.other(for: digest), role: .finished) ?? self
  }
}
