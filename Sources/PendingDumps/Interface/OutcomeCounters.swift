/// Counts the dumps that this process has written, and the reports that it has created and uploaded, since launch.
///
/// ```swift
/// for (outcome, count) in handler.counters.values {
///   Gauge(label: "crash_reports", dimensions: [("outcome", outcome)]).record(count)
/// }
/// ```
///
/// A crash is counted in the process that creates its report, not in the process that crashed.
public struct OutcomeCounters: Sendable, Equatable {
  /// Dumps that `dumpWithoutCrash` and hang monitors have written in this process.
  public package(set) var written = 0
  /// Reports created from complete dumps.
  public package(set) var complete = 0
  /// Reports created from truncated dumps.
  public package(set) var torn = 0
  /// Reports on processes that ended without leaving a dump.
  public package(set) var ended = 0
  /// Failed attempts to convert a dump; the conversion will be tried again.
  public package(set) var failed = 0
  /// Dumps that were moved to quarantine because attempts to convert them failed or ended the converter.
  public package(set) var quarantined = 0
  /// Reports that a server has accepted.
  public package(set) var uploaded = 0
  /// Uploads that failed or that a review postponed, and that will be tried again.
  public package(set) var uploadsDelayed = 0
  /// Reports that a server refused or a review held back; they are sent again only on request.
  public package(set) var uploadsSkipped = 0

  package init() {}

  /// All counters by name, in the order of the properties above; the names never change.
  public var values: [(outcome: String, count: Int)] {
    [
      ("written", written), ("complete", complete), ("torn", torn), ("ended", ended),
      ("failed", failed), ("quarantined", quarantined), ("uploaded", uploaded),
      ("uploads-delayed", uploadsDelayed), ("uploads-skipped", uploadsSkipped),
    ]
  }
}
