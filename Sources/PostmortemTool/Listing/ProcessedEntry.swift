internal import CrashConverter
internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps

extension ProcessedDump {
  /// A dump's result as one line: the outcome with cause and place and, if `show` can read it, the command that shows
  /// it.
  func line(database: String) -> String {
    let isHang = PendingDumpName(fileName: fileName)?.role == .hang
    return switch outcome.kind {
    case .left where isHang, .complete, .torn, .ended:
      "\(text); postmortem show\(database.asDatabaseOperand) \(reportID.description.prefix(8))"
    default: description
    }
  }
}

extension ReportTable {
  /// A table with a header and a line for each dump that was converted to a report.
  func text(of dumps: [ProcessedDump]) -> String {
    text(
      of: dumps.map { dump in
        let facts = dump.summary?.facts ?? ReportFacts()
        // For a run without a dump, the line shows how the run ended.
        let isEnd = dump.outcome.kind == .ended
        return [
          String(dump.reportID.description.prefix(8)), facts.program?.escapedForMessage ?? "-",
          isEnd ? dump.outcome.reason.escapedForMessage : CrashLine.text(of: facts),
          CrashLine.location(of: facts),
        ]
      },
      [
        Column(title: "ID", minimum: 8, style: .strong),
        Column(title: "PROGRAM", minimum: 8, isOptional: true),
        Column(title: "CRASH", minimum: 16, style: .alarm),
        Column(title: "WHERE", minimum: 12, isOptional: true),
      ])
  }
}

/// The outcome for a dump, as `process --json` and `watch --json` print it.
struct ProcessedEntry: Codable {
  let reportID: String
  /// The dump's name in the directory of pending dumps.
  let file: String
  /// One of "complete", "torn", "ended", "failed", "quarantined" and "left".
  let outcome: String
  /// The reason for the outcome; nil if the outcome is "complete".
  let reason: String?
  /// The time by which a dump that was left can be converted at the latest; nil if this time is not known.
  let until: String?

  init(_ dump: ProcessedDump) {
    reportID = dump.reportID.description
    file = dump.fileName
    outcome = dump.outcome.kind.rawValue
    reason = dump.outcome.kind == .complete ? nil : dump.outcome.reason
    until = dump.outcome.until?.description
  }

  /// True if the dump could not be converted.
  var isFailure: Bool { outcome == "failed" || outcome == "quarantined" }
  /// True if the dump was left for a later call, for example because another process may be using it.
  var isLeft: Bool { outcome == "left" }
}
