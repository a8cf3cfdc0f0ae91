internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// The forms in which a list of reports is printed: a table for a terminal, lines for a pipe, IDs, or JSON.
struct ReportOutput {
  private let usesColor: Bool
  private let isQuiet: Bool
  private let isJSON: Bool
  private let isTable: Bool

  init(_ usesColor: Bool, _ arguments: Arguments) {
    self.usesColor = usesColor
    isQuiet = arguments.has("--quiet")
    isJSON = arguments.has("--json")
    isTable = Terminal.isOutput && !isQuiet && !isJSON
  }

  /// Prints reports.
  ///
  /// After the reports, a line with counts follows on a terminal; in a pipe, notes about the dumps without a report
  /// follow. With `--json` or `--quiet`, nothing follows.
  ///
  /// - Parameters:
  ///   - total: the number of reports before the filter, and the dumps without a report; nil to print nothing after the
  ///     reports.
  ///   - uploading: the report that is being sent now; nil if there is none.
  func print(
    _ reports: [ListedReport], of total: (count: Int, rest: DatabaseRest)?,
    uploading: ReportID? = nil
  ) throws {
    let now = Timestamp.now
    if isJSON {
      let entries = reports.map {
        ReportEntry($0, isUploading: $0.stored.id == uploading, now: now)
      }
      return try StandardOutput.print(JSON.text(of: entries))
    }
    if isQuiet {
      return try StandardOutput.print(reports.map { "\($0.stored.id)\n" }.joined())
    }
    if isTable {
      try StandardOutput.print(table.text(of: reports))
      guard let total else { return }
      return try StandardOutput.print(
        table.count(of: reports, total: total.count, total.rest) + "\n")
    }
    let pieces = collectConcurrently(reports.count) { piece in
      let lines = piece.map {
        reports[$0].line(isUploading: reports[$0].stored.id == uploading, now: now)
      }
      return [(start: piece.lowerBound, text: lines.joined())]
    }
    for piece in pieces.sorted(by: { $0.start < $1.start }) { try StandardOutput.print(piece.text) }
    for note in total?.rest.notes ?? [] { try StandardOutput.print(note + "\n") }
  }

  private var table: ReportTable {
    ReportTable(width: Terminal.width, usesColor: usesColor, now: .now)
  }

  /// Prints groups, followed by the errors of the reports that could not be read.
  func print(groupsOf reports: [ListedReport], _ failures: [ToolError]) throws {
    let groups = ReportGroup.groups(of: reports)
    if isJSON {
      try StandardOutput.print(JSON.text(of: groups))
    } else if isTable {
      try StandardOutput.print(table.text(of: groups))
    } else {
      for group in groups { try StandardOutput.print(group.text) }
    }
    for failure in failures { Terminal.printError(failure.description) }
  }
}

/// A report in the form of the JSON of `list`, `delete` and `prune`.
struct ReportEntry: Codable {
  let reportID: String
  let state: String
  let creationTime: Timestamp
  /// The size of the report's minidump in bytes.
  let size: Int64
  let path: String
  /// The time of the crash.
  let time: Timestamp?
  /// "old" or "doubtful"; nil for other times.
  let timeMark: ListedReport.TimeMark?
  let program: String?
  let version: String?
  let pid: UInt64?
  let signal: String?
  let cause: String?
  let message: String?
  let place: String?
  let signature: String?
  /// A word for how a run that left no dump ended; nil for the report of a dump.
  let end: String?
  let upload: UploadEntry

  init(_ report: ListedReport, isUploading: Bool, now: Timestamp = .now) {
    let stored = report.stored
    reportID = stored.id.description
    state = stored.state.rawValue
    creationTime = stored.creationTime
    size = stored.size
    path = stored.path
    time = report.facts?.time
    timeMark = report.timeMark(now: now)
    program = report.facts?.program
    version = report.facts?.version
    pid = report.processID
    signal = report.facts?.signalName
    cause = report.facts?.cause
    message = report.facts?.message
    place = report.facts?.place
    signature = report.facts?.signature
    end = report.facts?.end
    upload = UploadEntry(stored, isUploading: isUploading)
  }
}
