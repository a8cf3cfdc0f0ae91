internal import CrashReportDatabase
internal import CrashReportUpload
internal import Dispatch
internal import Foundation
internal import IntermediateDump
internal import Synchronization

/// The subcommand `postmortem upload [DIR] [ID...] --url URL|--dsn DSN`.
enum UploadCommand: Subcommand {
  static let name = "upload"
  static let summary = "send reports to a server: one, some or all"
  static let help = """
    Sends reports to a server, in the form of Crashpad and Breakpad, or as Sentry's envelopes.

    Usage: postmortem upload [DIR] [ID...] --url URL|--dsn DSN [--field NAME=VALUE]...
                             [--header-file FILE] [--secret-file FILE] [--timeout SECONDS]
                             [--sanitize|--no-memory] [--whole-reports N] [--sentry-reads-minidump]
                             [--dry-run] [--json]
           postmortem upload [DIR] --enable|--disable [--create] [--json]

    POSTMORTEM_DATABASE in the environment stands for DIR; ID is a report ID or the beginning of one.

    Reports that are named are sent whatever the database's settings say. Without a name all that are
    pending are sent, if uploads are enabled in the database. Each is tried once, now; one that fails
    stays pending, and one that the server refuses for good is skipped (see postmortem list). Proxies
    are taken from http_proxy, https_proxy and no_proxy, certificates are checked, redirects are not
    followed. Docs/Upload.md names servers.

      --url URL           where the form is posted to, http or https
      --dsn DSN           the project at Sentry, or at a server that speaks its protocol, to which
                          envelopes are posted: https://KEY@HOST/PROJECT
      --sentry-reads-minidump  with --dsn: let Sentry make the event from the minidump, by the debug files
                          that were uploaded there; it throws away message, stacks and names of ours
      --field NAME=VALUE  a form field beside the report's annotations, or in place of one; with
                          --dsn a tag
      --header-file FILE  HTTP headers, 'Name: value' a line
      --secret-file FILE  a file whose first line is sent as Authorization: Bearer SECRET
      --timeout SECONDS   without progress, after which an upload has failed; 60 if not given
      --sanitize, --no-memory  leave out what may be a secret, as postmortem show does, and attachments;
                          the reports on disk stay as they are
      --whole-reports N   send so many reports of a signature whole in an hour, and the others as a count
                          without minidumps; for a server that takes a form without one
      --dry-run           send nothing and change nothing; print each request, with path and size of
                          each file in place of its bytes
      --json              print a JSON object on one line for each report that was tried: reportID, event
                          (uploaded, delayed, skipped or failed), serverID, nextAttempt and reason; with
                          --dry-run for each request: reportID, url, headers, size and body; with
                          --enable and --disable one with uploadsEnabled
      --enable            let programs of this database upload from now on; DIR may be empty, as it is
                          before the first of them starts
      --disable           let them no longer
      --create            with these two, make a database of a directory that has other files, or is missing

    Exit status: 0 if the server has all of them; 1 if not.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words,
      flags: Arguments.privacyFlags.union([
        "--create", "--dry-run", "--enable", "--disable", "--json", "--sentry-reads-minidump",
      ]),
      options: [
        "--url", "--dsn", "--field", "--header-file", "--secret-file", "--timeout",
        "--whole-reports",
      ],
      operands: 0...Int.max, help: help)
    let (path, words) = try arguments.databaseAndReports(help: help)
    if arguments.has("--enable") || arguments.has("--disable") {
      guard words.isEmpty, arguments["--url"] == nil, arguments["--dsn"] == nil,
        arguments.has("--enable") != arguments.has("--disable")
      else { throw ToolError.usage("--enable and --disable stand alone", help: help) }
      try ReportDatabase.openForSettings(path, creating: arguments.has("--create"))
        .setUploadsEnabled(arguments.has("--enable"))
      guard arguments.has("--json") else { return }
      return Terminal.print(try JSON.line(of: ["uploadsEnabled": arguments.has("--enable")]))
    }
    guard !arguments.has("--create") else {
      throw ToolError.usage("--create needs --enable or --disable", help: help)
    }
    guard let target = try target(arguments, urlOption: "--url", help: help) else {
      throw ToolError.usage("--url or --dsn is missing", help: help)
    }
    let database = try ReportDatabase.open(path)
    let ids = try words.map { try ReportDatabase.report($0, in: database, at: path, help: help).id }
    guard try !ids.isEmpty || arguments.has("--dry-run") || database.uploadsEnabled() else {
      throw ToolError(
        path: path,
        "uploads are not enabled: name reports, or allow them with postmortem upload "
          + "\(path.quotedForShell) --enable")
    }
    let named = ids.isEmpty ? nil : ids
    if arguments.has("--dry-run") {
      var requests: [UploadDescription] = []
      try describeUploads(named, database: path, to: target) { requests.append($0) }
      for request in requests {
        Terminal.print(arguments.has("--json") ? try JSON.line(of: request) : request.text)
      }
      return
    }
    try send(named, path, target, arguments.has("--json") ? printJSON : printEvent)
  }

  /// The server that the arguments name, by a URL or a DSN, with those of the options that the
  /// subcommand has; nil where they name none.
  ///
  /// - Parameter timeout: without the option `--timeout`, in seconds.
  static func target(
    _ arguments: Arguments, urlOption: String, timeout: Int = 60, help: String
  ) throws -> UploadTarget? {
    let options = try options(arguments, timeout, help)
    switch (arguments[urlOption], arguments["--dsn"]) {
    case (let url?, nil): return try UploadTarget(url: url, options: options)
    case (nil, let dsn?): return try UploadTarget(dsn: dsn, options: options)
    case (nil, nil): return nil
    case (_?, _?): throw ToolError.usage("\(urlOption) and --dsn exclude each other", help: help)
    }
  }

  private static func options(
    _ arguments: Arguments, _ timeout: Int, _ help: String
  ) throws -> UploadOptions {
    var options = UploadOptions()
    if let count = try arguments.integer("--whole-reports", in: 0...1_000_000, help: help) {
      var sampling = UploadSampling()
      sampling.wholeReports = count
      options.sampling = sampling
    }
    if let seconds = try arguments.integer("--interval", in: 0...86400, help: help) {
      options.interval = .seconds(seconds)
    }
    if let seconds = try arguments.integer("--spread", in: 0...86400, help: help) {
      options.spread = .seconds(seconds)
    }
    options.privacy = arguments.privacy
    options.sentryReadsMinidump = arguments.has("--sentry-reads-minidump")
    for field in arguments.values(of: "--field") {
      guard let (name, value) = UploadFiles.namedValue(field, separator: "=") else {
        throw ToolError.usage("--field needs NAME=VALUE", help: help)
      }
      options.fields[name] = value
    }
    options.headers = try arguments["--header-file"].map(UploadFiles.headers(of:)) ?? [:]
    if let file = arguments["--secret-file"] {
      options.headers["Authorization"] = "Bearer \(try UploadFiles.secret(of: file))"
    }
    options.timeout = .seconds(
      try arguments.integer("--timeout", in: 1...86400, help: help) ?? timeout)
    return options
  }

  private static func send(
    _ ids: [ReportID]?, _ path: String, _ target: UploadTarget,
    _ emit: @escaping @Sendable (UploadEvent) -> Void
  ) throws {
    let left = try AwaitedTask.run { () async throws(UploadError) -> Int in
      try await uploadReports(ids, database: path, to: target, emit: emit)
    }
    guard let left, left > 0 else { return }
    throw ToolError(
      path: path,
      "\(left) \(left == 1 ? "report was" : "reports were") not uploaded: see postmortem list "
        + path.quotedForShell)
  }

  /// The JSON of an event.
  struct Entry: Codable {
    let event: String
    let reportID: String?
    let serverID: String?
    let nextAttempt: Timestamp?
    let reason: String?
  }

  /// A line of JSON; nil for an event that is not the last of its report.
  static func line(of event: UploadEvent) -> String? {
    guard event.kind != .began, event.kind != .progressed else { return nil }
    return try? JSON.line(
      of: Entry(
        event: event.kind.rawValue, reportID: event.reportID?.description,
        serverID: event.serverID, nextAttempt: event.nextAttemptTime, reason: event.reason))
  }

  /// Prints the end of a report's upload, for commands that do something else too.
  ///
  /// - Parameter json: takes a line of JSON; nil for text on standard error.
  static func printEnd(of event: UploadEvent, json: ((String) -> Void)?) {
    guard let line = line(of: event) else { return }
    if let json { json(line) } else { Terminal.printError(event.description.escapedForMessage) }
  }

  private static let printJSON: @Sendable (UploadEvent) -> Void = { event in
    if let line = line(of: event) { Terminal.print(line) }
  }

  private static let printEvent: @Sendable (UploadEvent) -> Void = { event in
    switch event.kind {
    case .began: break
    case .progressed:
      guard isatty(2) == 1, let id = event.reportID, let sent = event.sent, let total = event.size
      else { return }
      let line = "\r\u{1B}[K\(id): \(sent >> 20) of \(total >> 20) MiB"
      Terminal.printProgress(sent < total ? line : "\r\u{1B}[K")
    case .uploaded: Terminal.print(event.description.escapedForMessage + "\n")
    default:
      if isatty(2) == 1 { Terminal.printProgress("\r\u{1B}[K") }
      Terminal.printError(event.description.escapedForMessage)
    }
  }
}

/// Files with headers and secrets, which must not be among a process's arguments.
enum UploadFiles {
  /// Reads HTTP headers, `Name: value` a line.
  static func headers(of path: String) throws(ToolError) -> [String: String] {
    var headers: [String: String] = [:]
    let text = String(decoding: try InputFile.bytes(of: path), as: UTF8.self)
    for line in text.split(whereSeparator: \.isNewline) {
      guard let (name, value) = namedValue(String(line), separator: ":") else {
        throw ToolError(path: path, "a line that is not 'Name: value'")
      }
      headers[name] = String(value.drop { $0 == " " })
    }
    return headers
  }

  /// Reads a secret, the first line of a file.
  static func secret(of path: String) throws(ToolError) -> String {
    let bytes = try InputFile.bytes(of: path)
    let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    guard (1...4096).contains(line.count), line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw ToolError(
        path: path, "its first line is no secret: visible ASCII, 1 to 4096 characters")
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Splits `name=value` or `name: value`; nil without the separator or without a name.
  static func namedValue(_ text: String, separator: Character) -> (name: String, value: String)? {
    let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    return (String(parts[0]), String(parts[1]))
  }
}

/// Asynchronous work of a command that has nothing else to do.
enum AwaitedTask {
  private final class Box<Value: Sendable, Failure: Error>: Sendable {
    let result = Mutex<Result<Value, Failure>?>(nil)
  }

  /// Waits for work on this thread.
  ///
  /// - Parameter seconds: the time after which it is cancelled, and its end waited for; nil for none.
  /// - Returns: nil only if it never ended.
  static func run<Value: Sendable, Failure: Error>(
    seconds: Int? = nil, _ work: @escaping @Sendable () async throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    let box = Box<Value, Failure>()
    let done = DispatchSemaphore(value: 0)
    let task = Task.detached {
      let result: Result<Value, Failure>
      do throws(Failure) { result = .success(try await work()) } catch { result = .failure(error) }
      box.result.withLock { $0 = result }
      done.signal()
    }
    if done.wait(timeout: seconds.map { .now() + .seconds($0) } ?? .distantFuture) == .timedOut {
      task.cancel()
      done.wait()
    }
    return try box.result.withLock { $0 }?.get()
  }
}
