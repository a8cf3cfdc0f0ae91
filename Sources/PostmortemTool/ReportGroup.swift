internal import CrashReport
internal import CrashReportDatabase
internal import IntermediateDump

/// Reports of one program with one signature, as `list --group` prints them.
struct ReportGroup: Codable {
  /// Nil where the dump has lost the signal.
  let signature: String?
  /// The product's name, else the executable's.
  let program: String?
  var count: Int
  /// When it crashed first and last.
  var first: Timestamp
  var last: Timestamp
  /// The program's, in the order in which they crashed first.
  var versions: [String]
  /// IDs, oldest crash first.
  var reports: [String]

  private struct Key: Hashable {
    let signature: String?
    let program: String?
  }

  private struct Member {
    let key: Key
    let time: Timestamp
    let version: String?
    let id: String
  }

  /// Groups reports, those with most of them first.
  ///
  /// Reads one dump at a time, and each module's file once.
  ///
  /// - Parameters:
  ///   - reports: of one database.
  ///   - symbolFolders: as for `show`.
  ///   - progress: called before each report, with how many were read.
  /// - Returns: the groups, and what could not be read.
  static func groups(
    of reports: [StoredReport], symbolFolders: [String], progress: (Int) -> Void
  ) -> (groups: [ReportGroup], failures: [ToolError]) {
    let reader = ReportReader(symbolFolders: symbolFolders)
    var members: [Member] = []
    var failures: [ToolError] = []
    for (index, report) in reports.enumerated() {
      progress(index)
      do throws(ToolError) {
        members.append(try member(report, reader))
      } catch {
        failures.append(error)
      }
    }
    members.sort { $0.time.nanoseconds < $1.time.nanoseconds }
    var groups: [ReportGroup] = []
    var known: [Key: Int] = [:]
    for member in members {
      let index = known[member.key] ?? groups.count
      if index == groups.count {
        known[member.key] = index
        groups.append(
          ReportGroup(
            signature: member.key.signature, program: member.key.program, count: 0,
            first: member.time, last: member.time, versions: [], reports: []))
      }
      groups[index].count += 1
      groups[index].last = member.time
      groups[index].reports.append(member.id)
      if let version = member.version, !groups[index].versions.contains(version) {
        groups[index].versions.append(version)
      }
    }
    groups.sort { ($0.count, $0.last.nanoseconds) > ($1.count, $1.last.nanoseconds) }
    return (groups, failures)
  }

  private static func member(
    _ report: StoredReport, _ reader: ReportReader
  ) throws(ToolError) -> Member {
    let facts = try reader.facts(of: report.path)
    return Member(
      key: Key(signature: facts.signature, program: facts.program),
      time: facts.time ?? Timestamp(seconds: report.creationTime), version: facts.version,
      id: report.id.description)
  }

  /// Two lines for people.
  var text: String {
    func second(_ time: Timestamp) -> String {
      String(time.description.prefix(19)).replacing("T", with: " ")
    }
    let versions = versions.isEmpty ? "" : ", versions \(versions.joined(separator: ", "))"
    let program = program.map { "\($0): " } ?? ""
    let line = program + (signature ?? "no signal in the dump")
    let details =
      "first \(second(first)), last \(second(last)) UTC\(versions), "
      + "last report \(reports.last ?? "-")"
    let number = String(count)
    let margin = String(repeating: " ", count: max(0, 5 - number.count)) + number
    return "\(margin)  \(line.escapedForMessage)\n       \(details.escapedForMessage)\n"
  }
}
