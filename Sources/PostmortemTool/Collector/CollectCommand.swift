internal import CrashReportDatabase
internal import Dispatch
internal import Foundation

/// The subcommand `postmortem collect DIR`.
enum CollectCommand: Subcommand {
  static let name = "collect"
  static let summary = "receive crash reports by HTTP, for trying out and for small teams"
  static let help = """
    Receives crash reports by HTTP and stores them in a database that list and show read.

    Usage: postmortem collect DIR [--listen ADDRESS] [--port N] [--secret-file FILE]
                              [--max-size MIB] [--quota MIB]

    Takes the form of Crashpad, Breakpad and postmortem upload. It is small on purpose: no TLS, no
    accounts, no web pages. Put a proxy with TLS in front of it, or send to Sentry or Socorro (see
    Docs/Upload.md), where many programs report. A report that is sent twice is stored once. Prints the
    address, then a line for each request. Ends with SIGINT or SIGTERM, and its exit status is 0 then.

      --listen ADDRESS    in numbers; 127.0.0.1 if not given; others need a secret
      --port N            9441 if not given; 0 for any that is free
      --secret-file FILE  clients must send its first line as Authorization: Bearer SECRET
      --max-size MIB      the most for one report with its attachments; 200 if not given
      --quota MIB         the most for all; 4096 if not given. Beyond it clients are told to try later

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, options: ["--listen", "--port", "--secret-file", "--max-size", "--quota"],
      operands: 1...1, help: help)
    var limits = Collector.Limits()
    if let size = try arguments.integer("--max-size", in: 1...4096, help: help) {
      limits.report = Int64(size) << 20
    }
    if let size = try arguments.integer("--quota", in: 1...1_000_000_000, help: help) {
      limits.quota = Int64(size) << 20
    }
    let port = try arguments.integer("--port", in: 0...65535, help: help) ?? 9441
    let secret = try arguments["--secret-file"].map(SecretFile.text(of:))
    let database = try CrashReportDatabase(path: arguments.operands[0])
    let listener = try ListeningSocket(address: arguments["--listen"] ?? "127.0.0.1", port: port)
    guard listener.isLoopback || secret != nil else {
      throw ToolError("an address that others reach needs --secret-file")
    }
    let collector = try Collector(database, limits: limits, secret: secret) { line in
      Terminal.print(line + "\n")
    }
    Terminal.print("listening on \(listener.url)\n")
    let sources = [SIGINT, SIGTERM].map { stop in
      signal(stop, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: stop, queue: .global())
      source.setEventHandler { listener.stop() }
      source.activate()
      return source
    }
    collector.serve(listener)
    for source in sources { source.cancel() }
  }
}
