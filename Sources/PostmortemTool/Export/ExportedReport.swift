internal import CrashReportDatabase
internal import IntermediateDump

/// A report as `postmortem export` writes it.
struct ExportedReport {
  let id: ReportID
  let state: StoredReport.State
  /// The minidump's path.
  let path: String
  /// The time of the crash or, if it is not known, of the minidump's last change.
  let time: Timestamp
  let isTimeKnown: Bool
  /// The facts; empty if the report cannot be read.
  let facts: ReportFacts
  let details: ReportDetails
  /// The reason why the report could not be read; nil if it was read.
  let failure: String?

  /// - Parameter modificationTime: the time of the minidump's last change, in nanoseconds since 1970.
  init(
    id: ReportID, state: StoredReport.State, path: String = "", modificationTime: Int64,
    _ facts: ReportFacts?, failure: String? = nil
  ) {
    self.id = id
    self.state = state
    self.path = path
    // A time before 1970 comes from a wrong clock, and some systems that import the export cannot store it, so the time
    // of the minidump's last change is used instead.
    let known = facts?.time.flatMap { $0.nanoseconds > 0 ? $0 : nil }
    time = known ?? Timestamp(nanoseconds: max(0, modificationTime))
    isTimeKnown = known != nil
    self.facts = facts ?? ReportFacts()
    details = facts?.details ?? ReportDetails()
    self.failure = failure
  }

  /// One of "crash", "hang", "dump", "end", "quit" and "unreadable".
  var kind: String {
    failure == nil ? (details.kind ?? .crash).word : "unreadable"
  }

  var signal: String? { facts.signalName ?? details[.endSignal] }

  /// The name of the signal's code or, if it has no name, its number.
  var code: String? {
    details[.codeName] ?? details[.code].map { String(Int64(bitPattern: $0)) }
  }

  /// The annotations.
  ///
  /// Two values can have the same name, because long names are cut; the first value is then used.
  var tags: [ReportDetails.Tag] {
    guard details.tags.count > 1 else { return details.tags }
    var names: Set<String> = []
    return details.tags.filter { names.insert($0.name).inserted }
  }

  /// The values of the oldest unit of work in flight, one for each name.
  ///
  /// The unit's contexts can be nested and have values with the same name; the innermost value is used.
  var inFlightValues: [ReportDetails.Tag] {
    var names: Set<String> = []
    return details.inFlightValues.reversed().filter { names.insert($0.name).inserted }.reversed()
  }
}
