internal import CrashReportUpload
internal import FoundationEssentials
internal import Glibc

extension CommandOption {
  static let dsn = CommandOption(
    "--dsn", value: "DSN",
    "send Sentry envelopes to this project, at Sentry or at a server that supports its protocol: "
      + "https://KEY@HOST/PROJECT")

  static let headerFile = CommandOption(
    "--header-file", value: "FILE", completing: .file,
    "a file with HTTP headers, one 'Name: value' per line")

  static let wholeReports = CommandOption(
    "--whole-reports", value: "N",
    "send at most N complete reports of a signature per hour, and the others as a count without minidumps; for a "
      + "server that accepts a form without a minidump")
}

extension UploadTarget {
  /// The server that the arguments name by a URL or a DSN; nil if they name none.
  ///
  /// If the subcommand does not have one of the upload options, that option has its default value.
  ///
  /// - Parameter timeout: the timeout in seconds if the option `--timeout` is not given.
  init?(_ arguments: Arguments, urlOption: String, timeout: Int = 60) throws {
    let options = try UploadOptions(arguments, timeout)
    switch (arguments[urlOption], arguments["--dsn"]) {
    case (let url?, nil): try self.init(url: url, options: options)
    case (nil, let dsn?): try self.init(dsn: dsn, options: options)
    case (nil, nil): return nil
    case (_?, _?): throw arguments.usage("\(urlOption) and --dsn cannot be used together")
    }
  }
}

extension UploadOptions {
  /// Reads the options of uploads from the arguments.
  ///
  /// - Parameter seconds: the timeout in seconds if the option `--timeout` is not given.
  fileprivate init(_ arguments: Arguments, _ seconds: Int) throws {
    self.init()
    if let count = try arguments.integer("--whole-reports", in: 0...1_000_000) {
      var sampling = UploadSampling()
      sampling.wholeReports = count
      self.sampling = sampling
    }
    if let seconds = try arguments.integer("--interval", in: 0...86400) {
      interval = .seconds(seconds)
    }
    if let seconds = try arguments.integer("--spread", in: 0...86400) {
      spread = .seconds(seconds)
    }
    privacy = arguments.privacy
    symbolDirectories = try arguments.symbolDirectories()
    sentryReadsMinidump = arguments.has("--sentry-reads-minidump")
    for field in arguments.values(of: "--field") {
      guard let (name, value) = UploadFiles.namedValue(field, separator: "=") else {
        throw arguments.usage("--field needs NAME=VALUE")
      }
      fields[name] = value
    }
    headers = try arguments["--header-file"].map(UploadFiles.headers(of:)) ?? [:]
    if let file = arguments["--secret-file"] {
      headers["Authorization"] = "Bearer \(try UploadFiles.secret(of: file))"
    }
    timeout = .seconds(
      try arguments.integer("--timeout", in: 1...86400) ?? seconds)
  }
}

/// Reads HTTP headers and secrets from files, because other users can read the arguments of a process.
enum UploadFiles {
  /// Reads HTTP headers, with one `Name: value` per line.
  static func headers(of path: String) throws(ToolError) -> [String: String] {
    var headers: [String: String] = [:]
    let text = String(decoding: try InputFile.bytes(of: path), as: UTF8.self)
    for line in text.split(whereSeparator: \.isNewline) {
      guard let (name, value) = namedValue(String(line), separator: ":") else {
        throw ToolError(path: path, "a line does not have the form 'Name: value'")
      }
      headers[name] = String(value.drop { $0 == " " })
    }
    return headers
  }

  /// Reads a secret, which is the first line of a file.
  static func secret(of path: String) throws(ToolError) -> String {
    let bytes = try InputFile.bytes(of: path)
    let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
    guard (1...4096).contains(line.count), line.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw ToolError(
        path: path, "the first line must be 1 to 4096 printable ASCII characters without spaces")
    }
    return String(decoding: line, as: UTF8.self)
  }

  /// Splits `name=value` or `name: value`; nil if the separator or the name is missing.
  static func namedValue(_ text: String, separator: Character) -> (name: String, value: String)? {
    let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return nil }
    return (String(parts[0]), String(parts[1]))
  }
}
