internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Selects a report or a waiting dump by an ID, a process ID or a program name.
///
/// Without such a word, the newest crash is selected. If there is no crash, another report or dump is selected.
struct ReportSelection {
  /// A report or dump that can be selected.
  struct Candidate {
    let id: ReportID
    let path: String
    let time: Timestamp
    /// The kind of event; nil if the minidump cannot be read.
    ///
    /// The kind comes from the index, from the minidump of a report that is not in the index, or from the waiting dump.
    let kind: () -> ReportDetails.Kind?
    var program: String?
    var executable: String?
    var processID: UInt64?
    /// The waiting dump; nil if the candidate is a report.
    var waiting: WaitingDump?

    func isOf(program name: String) -> Bool { program == name || executable == name }
  }

  /// The path of the database as the command line gives it.
  ///
  /// `place` is the path of the directory that contains the reports. The paths differ for a world-writable mount point,
  /// in which the database is a subdirectory.
  private let path: String
  private let place: String
  /// The database for reading reports; nil if only a handler has used it so far.
  private let reports: CrashReportDatabase?
  private let arguments: Arguments

  /// - Throws: `ToolError` if there is no database at the path.
  init(_ path: String, _ arguments: Arguments) throws {
    self.path = path
    self.arguments = arguments
    place = try ReportDatabase.place(path)
    let existing = try CrashReportDatabase(existing: place)
    reports = try existing?.keepsReports() == true ? existing : nil
    guard reports != nil || ReportDatabase.waiting(in: place) != nil else {
      throw ToolError(path: path, ReportDatabase.notOne)
    }
  }

  /// The number of digits of the longest process ID on Linux (`PID_MAX_LIMIT`, 4,194,304).
  private static let longestProcessID = 7

  /// The maximum number of dumps that are read, newest first.
  private static let maximumDumps = 1000

  /// Finds the report or dump that a word means; nil if there is none.
  ///
  /// - Parameter word: an operand of the command line; nil or "latest" for the newest crash.
  /// - Throws: `ToolError` if the word means more than one report or dump.
  func find(_ word: String?) throws -> Candidate? {
    let word = word == "latest" ? nil : word
    if let word, let id = ReportID(word), let report = try reports?.report(id),
      report.state != .new
    {
      return Candidate(ListedReport(stored: report, facts: nil)) { .crash }
    }
    let all = try candidates(readingAll: false)
    if let found = try find(word, in: all) { return found }
    // The index may lack reports, such as those that other writers made. These reports are read only if the first
    // search finds nothing.
    let needsFacts = word.map { !isLongID($0) } ?? (program != nil || processID != nil)
    return needsFacts ? try find(word, in: candidates(readingAll: true)) : nil
  }

  private var program: String? { arguments["--program"] }
  private var processID: UInt64? { arguments["--pid"].flatMap { UInt64($0) } }

  /// True for a word that is too long for a process ID, and so can only be the beginning of a report ID.
  private func isLongID(_ word: String) -> Bool {
    word.utf8.count > Self.longestProcessID && ReportDatabase.isBeginningOfID(word)
  }

  private func find(_ word: String?, in all: [Candidate]) throws -> Candidate? {
    let all = all.filter { candidate in
      (program.map(candidate.isOf(program:)) ?? true)
        && (processID.map { candidate.processID == $0 } ?? true)
    }
    guard let word else { return Self.newest(of: all) }
    let beginning = word.lowercased()
    let byID =
      ReportDatabase.isBeginningOfID(word)
      ? all.filter { $0.id.description.hasPrefix(beginning) } : []
    if byID.count > 1 || isLongID(word) {
      guard byID.count > 1 else { return byID.first }
      let ids = byID.map(\.id).sorted().prefix(8).map(\.description).joined(separator: ", ")
      throw ToolError(
        path: path,
        "\(byID.count) report IDs begin with \(word): \(ids)" + (byID.count > 8 ? ", ..." : ""))
    }
    let number = word.utf8.count <= Self.longestProcessID ? UInt64(word) : nil
    let byProcess = number.map { number in all.filter { $0.processID == number } } ?? []
    let byProgram = all.filter { $0.isOf(program: word) }
    let found = [
      (byID.first, "the ID \(byID.first?.id.description ?? "")"),
      (Self.newest(of: byProcess), "--pid \(word)"),
      (Self.newest(of: byProgram), "--program \(word.quotedForShell)"),
    ].compactMap { candidate, words in candidate.map { ($0, words) } }
    guard Set(found.map(\.0.id)).count < 2 else {
      throw ToolError(
        path: path,
        "'\(word.escapedForMessage)' matches more than one report: use "
          + found.map(\.1).joined(separator: " or "))
    }
    let others = max(byProcess.count, byProgram.count) - 1
    if others > 0, let first = found.first?.0 {
      arguments.remark(
        "Showing the newest of \(others + 1) reports of \(word.escapedForMessage), \(first.time.second) UTC."
      )
    }
    return found.first?.0
  }

  /// Returns the newest crash.
  ///
  /// If there is no crash, the newest other dump is returned. If there is no such dump either, the newest report on
  /// how a run ended, by itself or on request, is returned. A report that cannot be read is returned only if there is nothing else.
  ///
  /// A report on a process that was killed during a deployment must not hide an earlier crash. A report that cannot be
  /// read must not hide an earlier crash either, because the time of its own crash is not known.
  private static func newest(of candidates: [Candidate]) -> Candidate? {
    var (other, end, unreadable): (Candidate?, Candidate?, Candidate?)
    for candidate in candidates.sorted(by: { ($0.time, $0.id) > ($1.time, $1.id) }) {
      switch candidate.kind() {
      case .crash: return candidate
      case .end, .quit: end = end ?? candidate
      case .hang, .dump: other = other ?? candidate
      case nil: unreadable = unreadable ?? candidate
      }
    }
    return other ?? end ?? unreadable
  }

  /// All reports that can be selected, and the newest `maximumDumps` of the waiting dumps.
  ///
  /// - Parameter readingAll: true to also read reports that the index lacks, in a separate process; the index does
  ///   not change.
  private func candidates(readingAll: Bool) throws -> [Candidate] {
    var found: [Candidate] = []
    var known: Set<ReportID> = []
    if let database = reports {
      let listed =
        readingAll
        ? try ListedReport.all(in: database, isStoring: false).reports
        : try ListedReport.indexed(database.listing().reports, in: database)
      for report in listed where report.stored.state != .new {
        known.insert(report.stored.id)
        found.append(Candidate(report) { report.kind(in: database) })
      }
    }
    for dump in WaitingDump.all(in: place, withHangs: true).prefix(Self.maximumDumps)
    where !known.contains(dump.name.reportID) {
      guard let facts = dump.facts() else { continue }
      found.append(Candidate(dump, facts))
    }
    return found
  }
}

extension ReportSelection.Candidate {
  init(_ report: ListedReport, kind: @escaping () -> ReportDetails.Kind?) {
    id = report.stored.id
    path = report.stored.path
    time = report.time
    self.kind = kind
    program = report.facts?.program
    executable = report.executable
    processID = report.processID
  }

  init(_ dump: WaitingDump, _ facts: ReportFacts) {
    id = dump.name.reportID
    path = dump.path
    let known = facts.time.flatMap { $0.nanoseconds > 0 ? $0 : nil }
    time = known ?? Timestamp(nanoseconds: dump.modificationTime)
    let word = facts.details?.kind ?? .crash
    kind = { word }
    program = facts.program
    executable = facts.details?[text: .executablePath]?.lastComponent ?? dump.name.identifier
    processID = facts.details?[number: .processID]
    waiting = dump
  }
}
