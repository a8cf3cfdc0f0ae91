internal import CrashReportDatabase
internal import IntermediateDump

/// A row of a list: a report, or a dump that is not a report yet.
struct ListRow {
  enum State: String, Codable {
    case report
    /// A report that is being written, or was left by a writer that ended.
    case writing
    /// A dump that waits for its conversion.
    case waiting
    /// The dump of a hang that lasts.
    case hanging
  }

  let id: ReportID
  let state: State
  /// The time of the crash or, if it is not known, of the report's creation or of the dump's last change.
  let time: Timestamp
  /// The time of the report's creation or of the dump's last change.
  let creationTime: Timestamp
  /// The facts; nil if they could not be read.
  let facts: ReportFacts?
  let processID: UInt64?
  /// The file name of the program; nil if it is not known or was not requested.
  let executable: String?
  let path: String
  /// The size of the minidump or dump in bytes.
  let size: Int64
  /// The report; nil for a dump.
  let stored: StoredReport?
  private let isUploading: Bool

  init(_ report: ListedReport, isUploading: Bool = false) {
    id = report.stored.id
    state = report.stored.state == .new ? .writing : .report
    time = report.time
    creationTime = report.stored.creationTime
    facts = report.facts
    processID = report.processID
    executable = report.executable
    path = report.stored.path
    size = report.stored.size
    stored = report.stored
    self.isUploading = isUploading
  }

  private init(_ dump: WaitingDump, _ facts: ReportFacts?) {
    id = dump.name.reportID
    state = dump.isHanging ? .hanging : .waiting
    creationTime = Timestamp(nanoseconds: dump.modificationTime)
    time = facts?.time ?? creationTime
    self.facts = facts
    processID = facts?.details?[number: .processID]
    executable =
      facts?.details?[text: .executablePath]?.lastComponent ?? dump.name.identifier
    path = dump.path
    size = dump.size
    stored = nil
    isUploading = false
  }

  /// The maximum number of dumps that a list reads, newest first.
  private static let maximumDumps = 50

  /// The dumps of a database that are not reports yet, oldest first; each is read in a separate process.
  ///
  /// - Parameters:
  ///   - place: the path of the database's directory, as `ReportDatabase.place` returns it.
  ///   - reports: the reports of the database; a dump that already is one of them is left out.
  static func dumps(in place: String, without reports: [ListedReport]) -> [ListRow] {
    var dumps = WaitingDump.all(in: place, withHangs: true)
    guard !dumps.isEmpty else { return [] }
    let known = Set(reports.map(\.stored.id))
    dumps.removeAll { known.contains($0.name.reportID) }
    let reader = ReportReader(symbolDirectories: [])
    let progress = ProgressLine("reading dumps:")
    defer { progress.clear() }
    let rows = dumps.enumerated().map { number, dump in
      progress.update(number, of: dumps.count)
      return ListRow(dump, number < maximumDumps ? try? reader.facts(of: dump.path) : nil)
    }
    return rows.sorted { ($0.time, $0.id) < ($1.time, $1.id) }
  }

  /// Inserts rows into others; both are in the order of their times.
  static func merged(_ rows: [ListRow], _ others: [ListRow]) -> [ListRow] {
    guard !others.isEmpty else { return rows }
    var merged: [ListRow] = []
    merged.reserveCapacity(rows.count + others.count)
    var rest = others[...]
    for row in rows {
      while let first = rest.first, first.time < row.time { merged.append(rest.removeFirst()) }
      merged.append(row)
    }
    return merged + rest
  }
}

extension ListRow {
  /// The state of the report's upload; nil for a dump.
  var upload: UploadEntry? { stored.map { UploadEntry($0, isUploading: isUploading) } }

  /// The program's name and version; the executable's name or "-" if they are not known.
  var programText: String {
    let words = [facts?.program ?? executable, facts?.version].compactMap(\.self)
    return words.isEmpty ? "-" : words.joined(separator: " ").escapedForMessage
  }

  /// What to keep in mind about a row's time.
  enum TimeMark: String, Codable {
    /// The crash was more than 30 days ago; some receivers replace such a time with that of the upload.
    case old
    /// The machine's clock was wrong at the crash, or is wrong now.
    case doubtful
  }

  /// The mark of the row's time; nil if the time is neither old nor doubtful.
  func timeMark(now: Timestamp) -> TimeMark? {
    let seconds = time.seconds
    let latest = min(now.seconds, creationTime.seconds).clampedAdding(60)
    if seconds > latest || seconds < Self.firstSecond { return .doubtful }
    return now.seconds.clampedSubtracting(seconds) > 30 * 86_400 ? .old : nil
  }

  /// The start of 2020; this package did not exist then, so an earlier time comes from a clock that was not set.
  private static let firstSecond: Int64 = 1_577_836_800

  /// The program's reason for a dump that was taken without a crash, cut to fit into a line.
  private var reason: String? {
    guard let facts, facts.signal == nil else { return nil }
    return facts.message.map { $0.count > 80 ? $0.prefix(79) + "…" : $0 }
  }

  /// The row as a line for other programs.
  ///
  /// All columns are always printed, so that each has a fixed position.
  func line(now: Timestamp) -> String {
    let signal = (facts?.signalName ?? "-").padded(to: 8)
    let cause = facts?.end.map { "end: \($0)" } ?? facts?.cause ?? reason
    let program = [facts?.program ?? executable, facts?.version].compactMap(\.self)
    let columns = [
      program.isEmpty ? "-" : program.joined(separator: " "),
      cause ?? (facts == nil ? "unreadable" : "-"), facts?.place.map { "in \($0)" } ?? "-",
    ]
    let text = columns.map(\.withSingleSpaces).joined(separator: "  ").escapedForMessage
    let mark = timeMark(now: now).map { "  time \($0.rawValue)" } ?? ""
    return "\(id)  \(state.rawValue.padded(to: 7))  \(time.second) UTC  \(signal)  \(text)"
      + "\(upload?.text ?? "")\(mark)\n"
  }
}
