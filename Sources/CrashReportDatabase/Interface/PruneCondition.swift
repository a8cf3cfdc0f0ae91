internal import IntermediateDump

/// The limits of a database: the age of reports, and their total size in bytes.
///
/// Source: Crashpad `client/prune_crash_reports.cc`, PruneCondition::GetDefault.
public struct PruneCondition: Sendable, Equatable {
  /// The maximum age; older reports are removed.
  public var maximumAge = Duration.seconds(365 * 86_400)
  /// The maximum total size in bytes.
  ///
  /// If all reports together are larger than this size, or than a quarter of their file system, reports are removed:
  /// first those that have a newer report of the same program with the same signature, then others, each time the
  /// oldest ones first.
  ///
  /// The size includes minidumps and attachments; each report is rounded up to whole KiB. This limit never removes
  /// the newest report, however large it is.
  public var maximumSize: Int64 = 128 << 20

  /// Creates a condition with the defaults: 365 days, 128 MiB.
  public init() {}

  /// The reports to remove, newest first.
  ///
  /// A report with an impossible date counts as new. The clock was not set when such a report was made, or is not set
  /// now.
  ///
  /// - Parameters:
  ///   - reports: the reports, each with its size in bytes.
  ///   - now: the current time in seconds since 1970.
  ///   - limit: the number of bytes that reports may take: `maximumSize`, or less on a small file system.
  ///   - group: a text that is the same for reports of the same crash, nil if it is not known; called only if the
  ///     reports are too large.
  func excess(
    among reports: [(report: StoredReport, size: Int64)], now: Int64, limit: Int64,
    group: (StoredReport) -> String? = { _ in nil }
  ) -> [StoredReport] {
    let time = Timestamp(seconds: now)
    func order(_ report: StoredReport) -> (Int, Timestamp, ReportID) {
      let date = report.date(at: time)
      return (date.newness(at: time), date, report.id)
    }
    let newestFirst = reports.sorted { order($0.report) > order($1.report) }
    let oldest = Timestamp(seconds: now.clampedSubtracting(max(0, maximumAge.wholeSeconds)))
    var excess: Set<ReportID> = []
    var total: Int64 = 0
    var kept: [(report: StoredReport, size: Int64)] = []
    for (report, size) in newestFirst {
      let date = report.date(at: time)
      if date < oldest, date.isPossible(at: time) {
        excess.insert(report.id)
      } else {
        let rounded = max(0, size).clampedAdding(1023) & ~1023
        kept.append((report, rounded))
        total = total.clampedAdding(rounded)
      }
    }
    total = total.clampedSubtracting(limit)
    if total > 0 {
      var groups: Set<String> = []
      var (repeated, others): ([Int], [Int]) = ([], [])
      // The newest report is not among them: it is never removed because of its size.
      for index in kept.indices {
        let isFirst = group(kept[index].report).map { groups.insert($0).inserted } ?? true
        if index > 0 { if isFirst { others.append(index) } else { repeated.append(index) } }
      }
      for index in repeated.reversed() + others.reversed() where total > 0 {
        excess.insert(kept[index].report.id)
        total = total.clampedSubtracting(kept[index].size)
      }
    }
    return newestFirst.map(\.report).filter { excess.contains($0.id) }
  }
}
