internal import CrashAnalysis
internal import CrashConverter
internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump
internal import Minidump
internal import ProcessSnapshot

/// A report with the facts that lists show.
struct ListedReport {
  let stored: StoredReport
  /// The facts; nil if the report is still being written or cannot be read, or if only the index was read and lacks
  /// them.
  var facts: ReportFacts?
  /// The process ID; nil if it is not known or was not requested.
  var processID: UInt64?
  /// The file name of the program; nil if it is not known or was not requested.
  var executable: String?

  /// - Parameter keepsDetails: false to drop the details, except the process ID and the executable.
  init(stored: StoredReport, facts: ReportFacts?, keepsDetails: Bool = true) {
    self.stored = stored
    self.facts = facts
    let details = facts?.details
    processID = details?[number: .processID]
    executable = details?[text: .executablePath]?.lastComponent
    if !keepsDetails { self.facts?.details = nil }
  }

  /// The time of the crash or, if it is not known, the time of the report.
  var time: Timestamp { facts?.time ?? stored.creationTime }

  /// True if the facts say that the report is about a request to quit.
  var isQuitRequest: Bool { facts?.cause == Finding.quitRequest }

  /// The kind of event that the report is about; read from the beginning of its minidump if its facts are not known.
  ///
  /// A minidump that another program wrote is treated as a crash.
  ///
  /// - Returns: nil if the minidump cannot be read.
  func kind(in database: CrashReportDatabase) -> ReportDetails.Kind? {
    if let facts {
      if let kind = facts.details?.kind { return kind }
      if isQuitRequest { return .quit }
      return facts.end != nil ? .end : facts.signal == nil ? .dump : .crash
    }
    let read: IntermediateDumpDocument?
    do {
      read = try MinidumpSummary.document(of: database.openReport(stored))
    } catch {
      return nil
    }
    guard let document = read else { return .crash }
    return ReportDetails.Kind(of: ProcessSnapshot(summarizing: document))
  }

  /// The results of reading all reports of a database: the facts, the reports that could not be read, and the errors
  /// of files that the system refused to read.
  typealias Listing = (
    reports: [ListedReport], failures: [ToolError], unreadable: [CrashReportDatabaseError]
  )

  /// Reads facts only from the index; a report that is not in the index gets no facts.
  static func indexed(
    _ stored: [StoredReport], in database: CrashReportDatabase
  ) throws -> [ListedReport] {
    let index = ReportIndex(in: try database.open())
    return stored.map { ListedReport(stored: $0, facts: index.facts(of: $0)) }
  }

  /// All reports of a database with their facts, oldest crash first.
  ///
  /// If the index lacks a report, or the names for it, the report is read in a separate process and, if `isStoring` is
  /// true, added to the index.
  ///
  /// - Parameters:
  ///   - symbolDirectories: as for `show`; with a directory, the index is neither used nor changed.
  ///   - needsProcesses: true to also read process IDs and executables from the index.
  ///   - isStoring: false to leave the index as it is.
  static func all(
    in database: CrashReportDatabase, symbolDirectories: [String] = [],
    needsProcesses: Bool = false, isStoring: Bool = true
  ) throws -> Listing {
    let directory = try database.open()
    let index = symbolDirectories.isEmpty ? ReportIndex(in: directory) : nil
    let listing = try database.listing(collectConcurrently)
    let stored = listing.reports
    let isWorn = isStoring && (index?.isWorn(reports: stored.count) ?? false)
    var reports = collectConcurrently(stored.count) { piece in
      // Details are read only if the index must be written again, or if process IDs are needed.
      stored[piece].map {
        ListedReport(
          stored: $0, facts: index?.facts(of: $0, withDetails: isWorn || needsProcesses),
          keepsDetails: isWorn)
      }
    }
    let missing = reports.indices.filter { position in
      let report = reports[position]
      // A report in the state `new` is still being written, so it is not read.
      guard report.stored.state != .new else { return false }
      return report.facts?.isNamed != true
    }
    var unreadable = listing.sortedFailures
    let failures = read(missing, of: &reports, symbolDirectories, in: database, &unreadable) {
      batch in
      if isStoring, index != nil, !isWorn { ReportIndex.append(batch, in: directory) }
    }
    if isWorn {
      ReportIndex.rewrite(reports.compactMap(\.record), in: directory)
    }
    // Small sort keys are sorted instead of the reports, because copying reports takes long.
    let order = reports.indices.map { (reports[$0].time.nanoseconds, reports[$0].stored.id, $0) }
      .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
    reports.permute(order.map(\.2))
    return (reports, failures, unreadable)
  }

  private typealias Record = (key: ReportIndex.Key, facts: ReportFacts)

  private var record: Record? { facts.map { (ReportIndex.Key(of: stored), $0) } }

  /// Reads the facts of reports, and passes them to `store` in batches, so that facts that were read before an
  /// interruption are stored.
  ///
  /// - Parameter unreadable: receives the errors of the minidumps that the system refused to read.
  /// - Returns: the reasons why other reports could not be read.
  private static func read(
    _ missing: [Int], of reports: inout [ListedReport], _ symbolDirectories: [String],
    in database: CrashReportDatabase, _ unreadable: inout [CrashReportDatabaseError],
    _ store: ([Record]) -> Void
  ) -> [ToolError] {
    guard !missing.isEmpty else { return [] }
    let reader = ReportReader(symbolDirectories: symbolDirectories)
    let progress = ProgressLine("reading reports:")
    defer { progress.clear() }
    var failures: [ToolError] = []
    var batch: [Record] = []
    for (count, position) in missing.enumerated() {
      progress.update(count, of: missing.count)
      do throws(ToolError) {
        reports[position] = ListedReport(
          stored: reports[position].stored,
          facts: try reader.facts(of: reports[position].stored.path))
        if let record = reports[position].record { batch.append(record) }
      } catch {
        // If the report already has facts from the index, it was read only to find names. It then keeps these facts.
        if reports[position].facts == nil {
          if let refusal = database.refusal(of: reports[position].stored) {
            unreadable.append(refusal)
          } else {
            failures.append(error)
          }
        }
      }
      if batch.count == 256 {
        store(batch)
        batch = []
      }
    }
    if !batch.isEmpty { store(batch) }
    return failures
  }
}

extension Array {
  /// Moves the elements into a new order by swaps, without copying them.
  ///
  /// - Parameter sources: for each new position, the index of the element to move there; each index occurs once.
  mutating func permute(_ sources: [Int]) {
    var sources = sources
    for place in indices {
      var source = sources[place]
      // If the element that belongs here was originally at an earlier place, a swap has moved it, so `sources` is
      // followed to its current place.
      while source < place { source = sources[source] }
      sources[place] = source
      if source != place { swapAt(place, source) }
    }
  }
}

extension String {
  /// The text with each run of spaces replaced by one space, because two spaces separate columns.
  var withSingleSpaces: String {
    contains("  ") ? replacing(/[ ]+/, with: " ") : self
  }

  /// The text, padded at its end with spaces to `count` bytes; a longer text stays unchanged.
  func padded(to count: Int) -> String {
    self + String(repeating: " ", count: max(0, count - utf8.count))
  }
}

extension Timestamp {
  /// The date and the time of day in UTC, to the second, for people.
  var second: String {
    var text = String(description.prefix(19))
    let position = text.utf8.index(text.startIndex, offsetBy: 10)
    text.replaceSubrange(position...position, with: " ")
    return text
  }
}
