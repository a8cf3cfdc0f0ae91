internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump

/// The reports of one program with one signature, as `list --group` prints them.
struct ReportGroup: Codable {
  let signature: String?
  let program: String?
  var count = 0
  /// The times of the first and the last crash.
  var first: Timestamp
  var last: Timestamp
  /// The versions of the program, in the order of their first crashes.
  var versions: [String] = []
  /// The report IDs, oldest crash first.
  var reportIDs: [String] = []

  /// Groups reports and returns the largest group first.
  ///
  /// - Parameter reports: the reports of one database; a report without facts could not be read, and is left out.
  static func groups(of reports: [ListedReport]) -> [ReportGroup] {
    var members = reports.compactMap { report in
      report.facts.map { (facts: $0, time: report.time, id: report.stored.id.description) }
    }
    members.sort { $0.time.nanoseconds < $1.time.nanoseconds }
    var groups: [[String?]: ReportGroup] = [:]
    for (facts, time, id) in members {
      let new = ReportGroup(
        signature: facts.signature, program: facts.program, first: time, last: time)
      groups[[facts.signature, facts.program], default: new]
        .add(id, at: time, version: facts.version)
    }
    return groups.values.sorted {
      ($0.count, $0.last.nanoseconds, $1.reportIDs[0]) > (
        $1.count, $1.last.nanoseconds, $0.reportIDs[0]
      )
    }
  }

  private mutating func add(_ id: String, at time: Timestamp, version: String?) {
    count += 1
    last = time
    reportIDs.append(id)
    if let version, !versions.contains(version) { versions.append(version) }
  }

  /// The group as two lines for people.
  var text: String {
    let versions = versions.isEmpty ? "" : ", versions \(versions.joined(separator: ", "))"
    let program = program.map { "\($0): " } ?? ""
    let line = program + (signature ?? "no signal in the dump")
    let details =
      "first \(first.second), last \(last.second) UTC\(versions), last report \(reportIDs.last ?? "-")"
    let number = String(count)
    let margin = String(repeating: " ", count: max(0, 5 - number.count)) + number
    return "\(margin)  \(line.escapedForMessage)\n       \(details.escapedForMessage)\n"
  }
}
