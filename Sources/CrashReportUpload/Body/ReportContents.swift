internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot
internal import Stackwalk

/// The contents of a stored report that an upload sends; secrets that the options remove are left out.
struct ReportContents: Sendable {
  /// The maximum size in bytes of a minidump from which parts can be left out.
  static let largestRewritten = 4 << 30

  let reportID: ReportID
  let minidump: UploadFile
  /// The attachments by name; none if the options leave out secrets, or if the reduction leaves out attachments.
  let attachments: [(name: String, file: UploadFile)]
  /// The fields to send: the annotations, including `prod`, `ver` and `guid`, and the fields of `UploadOptions`.
  let fields: [String: String]
  /// Directories to search for files that name functions.
  let symbolDirectories: [String]

  /// Opens a report's files.
  ///
  /// - Parameters:
  ///   - reduction: the parts to leave out, such as attachments.
  ///   - leavesOutMemory: true to send a minidump without memory.
  init(
    _ report: StoredReport, in database: CrashReportDatabase, _ options: UploadOptions,
    _ reduction: UploadReduction, leavesOutMemory: Bool
  ) throws(CrashReportDatabaseError) {
    let minidump =
      if options.privacy > .full || leavesOutMemory {
        try UploadFile(Self.rewritten(report, in: database, options, leavesOutMemory))
      } else {
        try UploadFile(try database.openReport(report))
      }
    // If the annotations of a report cannot be read, the report is sent without them.
    let described = DumpBytes(
      descriptor: minidump.file.descriptor, count: Int(clamping: minidump.size)
    ).flatMap { MinidumpAnnotations(of: $0) }
    var fields = described?.annotations ?? [:]
    let client =
      if let clientID = described?.clientID { clientID } else { try database.clientID() }
    fields["guid"] = fields["guid"] ?? client.description
    fields.merge(options.fields) { _, new in new }
    self.fields = fields
    symbolDirectories = options.symbolDirectories
    self.minidump = minidump
    reportID = report.id
    let isLeftOut = options.privacy > .full || reduction != .none
    let stored = isLeftOut ? [] : try database.attachments(of: report.id)
    var attachments: [(name: String, file: UploadFile)] = []
    if !stored.isEmpty {
      let directory = try database.open().subdirectory(CrashReportDatabase.attachmentsDirectory)
        .subdirectory(report.id.description)
      for attachment in stored {
        attachments.append((attachment.name, try UploadFile(try directory.open(attachment.name))))
      }
    }
    self.attachments = attachments
  }

  /// A report's minidump with parts left out, in a file whose name has already been removed, so that the file
  /// disappears when it is closed.
  private static func rewritten(
    _ report: StoredReport, in database: CrashReportDatabase, _ options: UploadOptions,
    _ leavesOutMemory: Bool
  ) throws(CrashReportDatabaseError) -> OpenFile {
    let bytes = try database.openReport(report).dumpBytes(limit: Self.largestRewritten)
    let directory = try database.open().subdirectory(.new)
    let file = try directory.createTemporary("\(report.id)", suffix: UploadBody.suffix)
    try? directory.remove(file.name)
    do throws(MinidumpError) {
      let privacy = options.privacy
      let symbols =
        privacy > .sanitized || leavesOutMemory
        ? SymbolSource(directories: options.symbolDirectories) : nil
      var snapshot = try MinidumpReader.snapshot(of: bytes).keeping(privacy, symbols: symbols)
      if leavesOutMemory { snapshot = snapshot.withoutMemory(symbols: symbols) }
      try MinidumpWriter.write(snapshot, to: file.descriptor)
    } catch {
      throw CrashReportDatabaseError(
        .fileSystemError, "\(report.id) cannot be written with less in it: \(error)")
    }
    return file
  }
}
