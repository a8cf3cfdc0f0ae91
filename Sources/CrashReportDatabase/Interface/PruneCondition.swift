internal import IntermediateDump

/// The limits of a database: the age of reports, and their total size in bytes.
///
/// Source: Crashpad `client/prune_crash_reports.cc`, PruneCondition::GetDefault.
public struct PruneCondition: Sendable, Equatable {
  /// The maximum age; older reports are removed.
  public var maximumAge = Duration.seconds(365 * 86_400)
  /// The maximum total size in bytes.
  ///
  /// A report is removed if this report and all newer reports together are larger than this size.
  ///
  /// The size includes minidumps and attachments; each report is rounded up to whole KiB. This limit never removes
  /// the newest report, however large it is.
  public var maximumSize: Int64 = 128 << 20

  /// Creates a condition with the defaults: 365 days, 128 MiB.
  public init() {}

  /// The reports to remove, the oldest one last.
  ///
  /// A report with an impossible date counts as new. The clock was not set when such a report was made, or is not set
  /// now.
  ///
  /// - Parameters:
  ///   - reports: the reports, each with its size in bytes.
  ///   - now: the current time in seconds since 1970.
  func excess(
    among reports: [(report: StoredReport, size: Int64)], now: Int64
  ) -> [StoredReport] {
    let time = Timestamp(seconds: now)
    func order(_ report: StoredReport) -> (Int, Timestamp, ReportID) {
      let date = report.date(at: time)
      return (date.newness(at: time), date, report.id)
    }
    let newestFirst = reports.sorted { order($0.report) > order($1.report) }
    let oldest = Timestamp(seconds: now.clampedSubtracting(max(0, maximumAge.wholeSeconds)))
    var total: Int64 = 0
    var excess: [StoredReport] = []
    for (index, (report, size)) in newestFirst.enumerated() {
      let rounded = max(0, size).clampedAdding(1023) & ~1023
      total = total.clampedAdding(rounded)
      let date = report.date(at: time)
      let isOld = date < oldest && date.isPossible(at: time)
      if isOld || (total > maximumSize && index > 0) {
        excess.append(report)
      }
    }
    return excess
  }
}
