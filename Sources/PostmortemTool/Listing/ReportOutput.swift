internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump

/// The forms in which a list is printed: a table for a terminal, lines for a pipe, IDs, or JSON.
struct ReportOutput {
  private let usesColor: Bool
  private let isQuiet: Bool
  private let isJSON: Bool
  private let isPaged: Bool
  /// True for a table on a terminal.
  let isTable: Bool

  init(_ usesColor: Bool, _ arguments: Arguments) {
    self.usesColor = usesColor
    isQuiet = arguments.has("--quiet")
    isJSON = arguments.has("--json")
    isTable = Terminal.isOutput && !isQuiet && !isJSON
    isPaged = !arguments.has("--no-pager")
  }

  /// Prints reports without a pager or counts.
  func print(_ reports: [ListedReport]) throws {
    let rows = reports.map { ListRow($0) }
    if isTable { try StandardOutput.print(table.text(of: rows)) } else { try printRecords(rows) }
  }

  /// Prints a list: on a terminal page by page and with a line of counts, otherwise only records.
  ///
  /// - Parameter total: the number of reports before the filter, and the dumps without a report.
  func print(list rows: [ListRow], of total: (count: Int, rest: DatabaseRest)) throws {
    guard isTable else { return try printRecords(rows) }
    let text =
      table.text(of: rows) + table.count(of: rows, total: total.count, total.rest) + "\n"
    if isPaged { try Pager.show(text) } else { try StandardOutput.print(text) }
  }

  /// Prints rows that follow others.
  func print(following rows: [ListRow]) throws {
    guard !rows.isEmpty else { return }
    guard !isTable else { return try StandardOutput.print(table.text(of: rows, hasTitles: false)) }
    guard isJSON else { return try printRecords(rows) }
    for row in rows {
      try StandardOutput.print(JSON.line(of: ReportEntry(row, now: .now)))
    }
  }

  private func printRecords(_ rows: [ListRow]) throws {
    let now = Timestamp.now
    if isJSON {
      return try StandardOutput.print(JSON.text(of: rows.map { ReportEntry($0, now: now) }))
    }
    let isQuiet = isQuiet
    let pieces = collectConcurrently(rows.count) { piece in
      let lines = piece.map { isQuiet ? "\(rows[$0].id)\n" : rows[$0].line(now: now) }
      return [(start: piece.lowerBound, text: lines.joined())]
    }
    for piece in pieces.sorted(by: { $0.start < $1.start }) { try StandardOutput.print(piece.text) }
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

/// A row in the form of the JSON of `list`, `delete` and `prune`.
struct ReportEntry: Codable {
  let reportID: String
  let state: ListRow.State
  /// The time of the report's creation or of the dump's last change.
  let creationTime: Timestamp
  /// The size of the minidump or dump.
  let bytes: Int64
  let path: String
  /// The time of the crash.
  let time: Timestamp?
  /// "old" or "doubtful"; nil for other times.
  let timeMark: ListRow.TimeMark?
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
  /// The state of the report's upload; nil for a dump.
  let upload: UploadEntry?

  init(_ row: ListRow, now: Timestamp) {
    reportID = row.id.description
    state = row.state
    creationTime = row.creationTime
    bytes = row.size
    path = row.path
    time = row.facts?.time
    timeMark = row.timeMark(now: now)
    program = row.facts?.program
    version = row.facts?.version
    pid = row.processID
    signal = row.facts?.signalName
    cause = row.facts?.cause
    message = row.facts?.message
    place = row.facts?.place
    signature = row.facts?.signature
    end = row.facts?.end
    upload = row.upload
  }
}
