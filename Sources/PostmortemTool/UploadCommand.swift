internal import CrashReportDatabase
internal import CrashReportUpload
internal import Foundation
internal import IntermediateDump

/// The subcommand `postmortem upload DIR [ID...] --url URL`.
enum UploadCommand: Subcommand {
  static let name = "upload"
  static let summary = "send reports to a collector: one, some or all"
  static let help = """
    Sends reports to a collector, by the form of Crashpad and Breakpad.

    Usage: postmortem upload DIR [ID...] --url URL [--field NAME=VALUE]... [--header-file FILE]
                             [--secret-file FILE] [--timeout SECONDS] [--dry-run]
           postmortem upload DIR --enable|--disable

    Reports that are named are sent whatever the database's settings say. Without a name all that are
    pending are sent, if uploads are enabled in the database. Each is tried once, now; one that does not
    go stays pending, and one that the collector refuses for good is skipped (see postmortem list). Proxies
    are taken from http_proxy, https_proxy and no_proxy, certificates are checked, redirects are not followed.

      --url URL           where the form is posted to, http or https
      --field NAME=VALUE  a form field beside the report's annotations, or in place of one
      --header-file FILE  HTTP headers, 'Name: value' a line
      --secret-file FILE  the secret of postmortem collect
      --timeout SECONDS   without progress, after which an upload has failed; 60 if not given
      --dry-run           send nothing and change nothing; print each request, with path and size of each
                          file in place of its bytes
      --enable            let programs of this database upload from now on
      --disable           let them no longer

    Exit status: 0 if the collector has all of them; 1 if not.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--dry-run", "--enable", "--disable"],
      options: ["--url", "--field", "--header-file", "--secret-file", "--timeout"],
      operands: 1...Int.max, help: help)
    let path = arguments.operands[0]
    if arguments.has("--enable") || arguments.has("--disable") {
      guard arguments.operands.count == 1, arguments["--url"] == nil,
        arguments.has("--enable") != arguments.has("--disable")
      else { throw UsageError("--enable and --disable stand alone", help: help) }
      return try Database.open(path).setUploadsEnabled(arguments.has("--enable"))
    }
    guard let url = arguments["--url"] else { throw UsageError("--url is missing", help: help) }
    let ids = try arguments.operands.dropFirst().map { word in
      guard let id = ReportID(word) else {
        throw UsageError("'\(word.escapedForMessage)' is not a report ID", help: help)
      }
      return id
    }
    let options = try options(arguments)
    let database = try Database.open(path)
    guard try !ids.isEmpty || arguments.has("--dry-run") || database.uploadsEnabled() else {
      throw ToolError(
        path: path, "uploads are not enabled: name reports, or see postmortem upload --enable")
    }
    let named = ids.isEmpty ? nil : ids
    if arguments.has("--dry-run") {
      return try describeUploads(named, database: path, to: url, options: options) {
        Terminal.print($0)
      }
    }
    try send(named, path, url, options)
  }

  private static func options(_ arguments: Arguments) throws -> UploadOptions {
    var options = UploadOptions()
    for field in arguments.values(of: "--field") {
      guard let (name, value) = NamedValue.parse(field, separator: "=") else {
        throw UsageError("--field needs NAME=VALUE", help: help)
      }
      options.fields[name] = value
    }
    options.headers = try arguments["--header-file"].map(HeaderFile.headers(of:)) ?? [:]
    if let file = arguments["--secret-file"] {
      options.headers["Authorization"] = "Bearer \(try SecretFile.text(of: file))"
    }
    options.timeout =
      try arguments.integer("--timeout", in: 1...86400, help: help) ?? options.timeout
    return options
  }

  private static func send(
    _ ids: [ReportID]?, _ path: String, _ url: String, _ options: UploadOptions
  ) throws {
    let result = AwaitedTask.run { () async -> Result<Int, UploadError> in
      do throws(UploadError) {
        let left = try await uploadReports(
          ids, database: path, to: url, options: options, emit: Self.tell)
        return .success(left)
      } catch {
        return .failure(error)
      }
    }
    guard let left = try result?.get(), left > 0 else { return }
    throw ToolError(path: path, "\(left) reports were not uploaded: see postmortem list")
  }

  private static let tell: @Sendable (UploadEvent) -> Void = { event in
    switch event {
    case .began: break
    case .progressed(let id, let sent, let total):
      guard isatty(2) == 1 else { return }
      let line = "\r\u{1B}[K\(id): \(sent >> 20) of \(total >> 20) MiB"
      Terminal.printProgress(sent < total ? line : "\r\u{1B}[K")
    case .uploaded: Terminal.print(event.description.escapedForMessage + "\n")
    default:
      if isatty(2) == 1 { Terminal.printProgress("\r\u{1B}[K") }
      Terminal.printError(event.description.escapedForMessage)
    }
  }
}
