internal import IntermediateDump

/// Which reports are too many: those that are too old, and the oldest of more bytes than wanted.
///
/// Source: Crashpad `client/prune_crash_reports.cc`, PruneCondition::GetDefault.
public struct PruneCondition: Sendable, Equatable {
  /// A report goes when it has been in the database for more days than this.
  public var maximumAgeInDays = 365
  /// A report goes when it and the newer ones come to more bytes than this.
  ///
  /// Minidump and attachments, each report rounded up to whole KiB. The newest report stays, however
  /// large it is.
  public var maximumSize: Int64 = 128 << 20

  /// The defaults: 365 days, 128 MiB.
  public init() {}

  /// The reports that go, oldest last.
  ///
  /// A report from the future, after the clock was set back, counts as new.
  ///
  /// - Parameters:
  ///   - reports: each with its bytes.
  ///   - now: seconds since 1970.
  func excess(
    among reports: [(report: StoredReport, size: Int64)], now: Int64
  ) -> [StoredReport] {
    let newestFirst = reports.sorted {
      ($0.report.creationTime, $0.report.id) > ($1.report.creationTime, $1.report.id)
    }
    let day: Int64 = 86_400
    let oldest = now.clampedSubtracting(
      Int64(max(0, maximumAgeInDays)).clampedMultiplied(by: day))
    var total: Int64 = 0
    var excess: [StoredReport] = []
    for (index, (report, size)) in newestFirst.enumerated() {
      let rounded = max(0, size).clampedAdding(1023) & ~1023
      total = total.clampedAdding(rounded)
      if report.creationTime < oldest || (total > maximumSize && index > 0) {
        excess.append(report)
      }
    }
    return excess
  }
}
