internal import CrashReportDatabase
internal import CrashReportUpload
internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import Synchronization

/// The subcommand `postmortem upload --url URL|--dsn DSN [ID...]`.
enum UploadCommand: Subcommand {
  static let name = "upload"
  static let summary = "send reports to a server: one, some or all"
  static let usage = [
    "--url URL|--dsn DSN [OPTION...] [ID...]", "--enable|--disable [--create] [-d DIR]",
  ]
  static let discussion = """
    Sends reports to a server, in the form of Crashpad and Breakpad, or as Sentry envelopes.

    Reports that you name by ID, or by the beginning of an ID, are sent regardless of the database's settings. \
    Without an ID, all pending reports are sent, if uploads are enabled in the database. Each report is tried once, \
    now (and again without attachments if it is too large). A report that fails stays pending; a report that the \
    server permanently refuses is skipped (see postmortem list). Proxies come from http_proxy, https_proxy, \
    all_proxy and no_proxy. The command checks certificates and does not follow redirects. Docs/Guide/Uploading.md \
    lists servers.
    """
  static let options: [CommandOption] = [
    .database,
    CommandOption("--url", value: "URL", "the http or https URL to which the form is posted"), .dsn,
    CommandOption(
      "--sentry-reads-minidump",
      "with --dsn: let Sentry create the event from the minidump, with the debug files that were uploaded there; "
        + "Sentry then discards the message, stacks and names that this command sends"),
    CommandOption(
      "--field", value: "NAME=VALUE",
      "a form field in addition to the report's annotations; replaces an annotation of the same name. With --dsn, "
        + "a tag"),
    .headerFile,
    CommandOption(
      "--secret-file", value: "FILE", completing: .file,
      "a file whose first line is sent as Authorization: Bearer SECRET"),
    CommandOption(
      "--timeout", value: "SECONDS",
      "the time without progress after which an upload fails (default: 60)"),
    .symbols, .sanitize, .noMemory, .wholeReports,
    CommandOption("--force", "with IDs: send the reports even if the server already has them"),
    CommandOption(
      "--dry-run",
      "send nothing and change nothing; print each request, with the path and size of each file instead of its "
        + "bytes"
    ),
    .json(
      "print a JSON object on one line for each report that was tried: reportID, event (uploaded, delayed, "
        + "skipped or failed), serverID, nextAttempt and reason; with --dry-run, for each request: reportID, url, "
        + "headers, size and body; with --enable or --disable, one object with uploadsEnabled"),
    CommandOption(
      "--enable",
      "allow uploads from this database; the directory may be empty, as it is before a program first starts"
    ),
    CommandOption("--disable", "forbid uploads from this database"),
    CommandOption(
      "--create",
      "with --enable or --disable, create the database if the directory does not exist or has other files"
    ),
    .quiet,
  ]
  static let operands = Operands(0...Int.max, "ID", completing: .report)
  static let closing = """
    --sanitize and --no-memory leave out attachments too; the reports on disk are not changed.

    Exit status: 0 if the server has all reports; 1 if not; 2 if it has all except those that were left out because \
    their files could not be read.
    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let (path, words) = try arguments.databaseAndWords()
    if arguments.has("--enable") || arguments.has("--disable") {
      return try set(path, words, arguments)
    }
    guard !arguments.has("--create") else {
      throw arguments.usage("--create needs --enable or --disable")
    }
    guard let target = try UploadTarget(arguments, urlOption: "--url") else {
      throw arguments.usage("missing option: --url or --dsn")
    }
    guard !words.isEmpty || !arguments.has("--force") else {
      throw arguments.usage("--force needs IDs")
    }
    let database = try ReportDatabase.open(path)
    let ids = try words.map { try ReportDatabase.report($0, in: database, at: path, help: help).id }
    guard try !ids.isEmpty || arguments.has("--dry-run") || database.uploadsEnabled() else {
      throw ToolError(
        path: path,
        "uploads are not enabled: name reports, or allow uploads with postmortem upload"
          + "\(path.asDatabaseOperand) --enable")
    }
    let named = ids.isEmpty ? nil : ids
    if arguments.has("--dry-run") {
      var requests: [UploadDescription] = []
      try describeUploads(named, database: path, to: target) { requests.append($0) }
      for request in requests {
        try StandardOutput.print(
          arguments.has("--json") ? try JSON.line(of: request) : request.text)
      }
      if requests.isEmpty { arguments.remark("No reports are waiting to be sent.") }
      return
    }
    let pending = try named?.count ?? database.listing().reports.count { $0.state == .pending }
    if pending == 0 { arguments.remark("No reports are waiting to be sent.") }
    try send(
      named, areForced: arguments.has("--force"), path, target,
      arguments.has("--json") ? printJSON : printEvent)
  }

  /// Enables or disables uploads from a database.
  private static func set(
    _ path: String, _ words: ArraySlice<String>, _ arguments: Arguments
  ) throws {
    let isEnabled = arguments.has("--enable")
    guard words.isEmpty, arguments["--url"] == nil, arguments["--dsn"] == nil,
      isEnabled != arguments.has("--disable")
    else {
      throw arguments.usage(
        "--enable and --disable cannot be used together, or with IDs, --url or --dsn")
    }
    try ReportDatabase.openForSettings(path, creating: arguments.has("--create"))
      .setUploadsEnabled(isEnabled)
    arguments.remark(
      "Uploads from \(path.escapedForMessage) are now \(isEnabled ? "allowed" : "forbidden")."
    )
    guard arguments.has("--json") else { return }
    try StandardOutput.print(JSON.line(of: ["uploadsEnabled": isEnabled]))
  }

  private static func send(
    _ ids: [ReportID]?, areForced: Bool, _ path: String, _ target: UploadTarget,
    _ emit: @escaping @Sendable (UploadEvent) -> Void
  ) throws {
    let passedOver = Mutex(0)
    let left = try AwaitedTask.run { () async throws(UploadError) -> Int in
      try await uploadReports(ids, areForced: areForced, database: path, to: target) { event in
        if event.kind == .failed { passedOver.withLock { $0 += 1 } }
        emit(event)
      }
    }
    guard let left, left > 0 else {
      let count = passedOver.withLock { $0 }
      guard count > 0 else { return }
      throw ToolError(
        path: path,
        "\(count) \(count == 1 ? "report was" : "reports were") left out, because files could not be read",
        exitStatus: 2)
    }
    throw ToolError(
      path: path,
      "\(left) \(left == 1 ? "report was" : "reports were") not uploaded: see postmortem list"
        + path.asDatabaseOperand)
  }

  /// An event of an upload as JSON.
  struct Entry: Codable {
    let event: String
    let reportID: String?
    let serverID: String?
    let nextAttempt: Timestamp?
    let reason: String?
  }

  /// An event of an upload as a line of JSON; nil for `began` and `progressed`, because the upload's result follows.
  static func line(of event: UploadEvent) -> String? {
    guard event.kind != .began, event.kind != .progressed else { return nil }
    return try? JSON.line(
      of: Entry(
        event: event.kind.rawValue, reportID: event.reportID?.description,
        serverID: event.serverID, nextAttempt: event.nextAttemptTime, reason: event.reason))
  }

  /// Prints the result of a report's upload, for commands whose main work is something else.
  ///
  /// - Parameter json: receives a line of JSON; nil to print text on standard error instead.
  static func printEnd(of event: UploadEvent, json: ((String) -> Void)?) {
    guard let line = line(of: event) else { return }
    if let json { json(line) } else { Terminal.printError(event.description.escapedForMessage) }
  }

  // A report whose line cannot be printed does not end the uploads; `StandardOutput` keeps the failure for the end.

  private static let printJSON: @Sendable (UploadEvent) -> Void = { event in
    if let line = line(of: event) { try? StandardOutput.print(line) }
  }

  private static let printEvent: @Sendable (UploadEvent) -> Void = { event in
    switch event.kind {
    case .began: break
    case .progressed:
      guard isatty(2) == 1, let id = event.reportID, let sent = event.sent, let total = event.size
      else { return }
      let line = "\r\u{1B}[K\(id): \(sent >> 20) of \(total >> 20) MiB"
      Terminal.printProgress(sent < total ? line : "\r\u{1B}[K")
    case .uploaded: try? StandardOutput.print(event.description.escapedForMessage + "\n")
    default:
      if isatty(2) == 1 { Terminal.printProgress("\r\u{1B}[K") }
      Terminal.printError(event.description.escapedForMessage)
    }
  }
}
