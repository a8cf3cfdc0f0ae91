internal import Foundation
internal import IntermediateDump
internal import Testing

/// What each form in which `postmortem` shows the reports of a database says about their verdicts.
package struct ReportReaders {
  /// The facts of a verdict, each as text.
  package typealias Facts = [String: String]

  private let tool: String
  private let database: String
  private let directory: String
  /// The facts in lists and exports, by reader and report.
  private let listed: [String: [String: Facts]]
  private let list: String
  /// The table that `list` prints on a terminal.
  private let table: String

  /// Lists and exports the reports of a database.
  ///
  /// - Parameters:
  ///   - tool: the path of `postmortem`.
  ///   - directory: the directory in which the commands run.
  package init(of database: String, tool: String, in directory: String) async throws {
    (self.database, self.tool, self.directory) = (database, tool, directory)
    func run(_ words: String...) async throws -> String {
      try await Self.run(tool, words, in: directory)
    }
    listed = [
      "list --json": try Self.objects(run: await run("list", database, "--json")),
      "export": try Self.lines(await run("export", database)),
      "otlp": try Self.telemetry(await run("export", database, "--format", "otlp")),
    ]
    list = Self.words(of: try await run("list", database))
    table = Self.words(of: try await Self.table(of: database, tool, in: directory))
  }

  /// What `show --json` says.
  package func shown(_ id: String) async throws -> Facts {
    Self.verdict(in: try Self.object(try await run("show", database, id, "--json")))
  }

  /// What `show --json` says about a dump or a core file.
  package func shown(file path: String) async throws -> Facts {
    Self.verdict(in: try Self.object(try await run("show", path, "--json")))
  }

  private static func verdict(in report: [String: Any]) -> Facts {
    var facts = facts(report, plain)
    let cause = report["cause"] as? [String: Any]
    let end = report["end"] as? [String: Any]
    facts["cause"] = cause?["kind"] as? String ?? end.map { $0["kind"] as? String ?? "unknown" }
    facts["certainty"] = cause?["certainty"] as? String
    return facts
  }

  /// The differences between what the readers of a report say and the expected facts; empty if there are none.
  ///
  /// A fact that a reader does not give, such as the certainty in a list, is not compared.
  package func disagreements(on id: String, with expected: Facts) async throws -> [String] {
    var readers = listed.mapValues { $0[id] ?? [:] }
    readers["show --json"] = try await shown(id)
    readers["form"] = try await form(of: id)
    readers["envelope"] = try await envelope(of: id)
    var found: [String] = []
    for (reader, own) in readers.sorted(by: { $0.key < $1.key }) {
      for name in Self.names(of: reader) {
        let value = Self.value(expected[name], in: reader)
        if own[name] != value {
          found.append("\(reader): \(name) is \(own[name] ?? "nil"), not \(value ?? "nil")")
        }
      }
    }
    let text = Self.words(of: try await run("show", database, id, "--full"))
    let page = Self.words(of: Self.unescaped(try await run("show", database, id, "--html")))
    for name in ["cause", "certainty", "place", "signature"] {
      // These forms replace control characters, and some shorten long texts.
      guard let value = expected[name].flatMap(Self.plainWords(of:)) else { continue }
      if !text.contains(value) { found.append("show --full: no \(name) \(value)") }
      if !page.contains(value) { found.append("show --html: no \(name) \(value)") }
      if ["cause", "place"].contains(name), !list.contains(value) {
        found.append("list: no \(name) \(value)")
      }
      if name == "place", !table.contains(Self.words(of: Self.location(expected[name] ?? ""))) {
        found.append("list on a terminal: no \(name) \(value)")
      }
    }
    return found
  }

  private static func names(of reader: String) -> [String] {
    switch reader {
    case "form": ["cause", "place", "signature"]
    case "envelope": ["cause", "certainty", "place", "signature"]
    case "show --json": ["cause", "certainty", "message", "place", "signature"]
    default: ["cause", "message", "place", "signature"]
    }
  }

  /// The value as a reader gives it: the index keeps at most 1 KiB of a text, and Sentry has its own limits.
  private static func value(_ value: String?, in reader: String) -> String? {
    switch reader {
    case "list --json", "export", "otlp": return value.map { String($0.cut(toBytes: 1 << 10)) }
    case "envelope":
      guard let scalars = value?.unicodeScalars, scalars.count > 200 else { return value }
      return String(String.UnicodeScalarView(scalars.prefix(199))) + "…"
    default: return value
    }
  }

  /// The words of a text that all forms show unchanged; nil for any other text.
  private static func plainWords(of text: String) -> String? {
    let isPlain = text.utf8.count <= 200 && text.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    return isPlain ? words(of: text) : nil
  }

  /// The text without white space, because lines are broken to fit.
  private static func words(of text: String) -> String { text.filter { !$0.isWhitespace } }

  /// A place as the table shows it: the file and the line, followed by the function.
  private static func location(_ place: String) -> String {
    guard let range = place.ranges(of: " at ").last else { return place }
    return place[range.upperBound...] + " " + place[..<range.lowerBound]
  }

  private static func table(
    of database: String, _ tool: String, in directory: String
  ) async throws -> String {
    let shell = try await ShellSession(
      in: directory, environment: ["NO_COLOR": "1", "POSTMORTEM_NO_SYMBOL_CACHE": "1"],
      columns: 4000)
    return try await shell.run("'\(tool)' list '\(database)'")
  }

  private static func unescaped(_ page: String) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
      .reduce(page.replacing(/<[^>]*>/, with: "")) { $0.replacing($1.0, with: $1.1) }
  }

  // MARK: - The readers

  private func run(_ words: String...) async throws -> String {
    try await Self.run(tool, words, in: directory)
  }

  private static func run(
    _ tool: String, _ words: [String], in directory: String
  ) async throws -> String {
    let child = try await ChildProcess.run(
      tool, words, in: directory, environment: ["POSTMORTEM_NO_SYMBOL_CACHE": "1"])
    try #require(child.end.exitCode == 0, "\(words): \(child.standardError)")
    return child.standardOutput
  }

  private static func object(_ text: some StringProtocol) throws -> [String: Any] {
    try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] ?? [:]
  }

  private static func facts(_ object: [String: Any], _ names: [String: String]) -> Facts {
    names.compactMapValues { object[$0] as? String }
  }

  private static let plain = [
    "cause": "cause", "message": "message", "place": "place", "signature": "signature",
  ]

  private static func byReport(_ objects: [[String: Any]]) -> [String: Facts] {
    Dictionary(
      objects.map { ($0["reportID"] as? String ?? "", facts($0, plain)) },
      uniquingKeysWith: { first, _ in first })
  }

  private static func objects(run text: String) throws -> [String: Facts] {
    byReport(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]] ?? [])
  }

  private static func lines(_ text: String) throws -> [String: Facts] {
    byReport(try text.split(separator: "\n").map { try object($0) })
  }

  private static func telemetry(_ text: String) throws -> [String: Facts] {
    var found: [String: Facts] = [:]
    for line in text.split(separator: "\n") {
      let record = (try object(line)["resourceLogs"] as? [[String: Any]])?.first
      let scope = (record?["scopeLogs"] as? [[String: Any]])?.first
      let log = (scope?["logRecords"] as? [[String: Any]])?.first
      var values: Facts = [:]
      for attribute in log?["attributes"] as? [[String: Any]] ?? [] {
        guard let key = attribute["key"] as? String else { continue }
        values[key] = (attribute["value"] as? [String: Any])?["stringValue"] as? String
      }
      found[values["log.record.uid"] ?? ""] = facts(
        values,
        [
          "cause": "postmortem.cause", "message": "exception.message",
          "place": "postmortem.place", "signature": "postmortem.signature",
        ])
    }
    return found
  }

  private func form(of id: String) async throws -> Facts {
    let text = try await run("upload", database, id, "--url", "http://127.0.0.1:9/", "--dry-run")
    return ["cause", "place", "signature"].reduce(into: [:]) { facts, name in
      let part = text.split(separator: "name=\"report_\(name)\"\r\n\r\n", maxSplits: 1)
      if part.count == 2 { facts[name] = String(part[1].prefix { $0 != "\r\n" }) }
    }
  }

  private func envelope(of id: String) async throws -> Facts {
    let text = try await run(
      "upload", database, id, "--dsn", "http://key@127.0.0.1:9/1", "--dry-run")
    guard let line = text.split(separator: "\n").first(where: { $0.contains("\"platform\"") })
    else { return [:] }
    let event = try Self.object(line)
    let contexts = event["contexts"] as? [String: [String: Any]]
    let crash = contexts?.values.first { $0["signature"] != nil } ?? [:]
    var facts = Self.facts(crash, ["cause": "cause", "certainty": "certainty"])
    facts["place"] = event["transaction"] as? String
    facts["signature"] = (event["fingerprint"] as? [String])?.first
    return facts
  }
}
