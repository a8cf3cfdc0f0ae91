public import IntermediateDump

/// One crash of a program, with facts on which the program can base decisions at its next start.
public struct RecentCrash: Sendable, Equatable, CustomStringConvertible {
  public let reportID: ReportID
  /// The wall-clock time of the crash; if the dump lacks it, the time of the last change to the file of the dump or
  /// report.
  ///
  /// A dump lacks this time if it is truncated, or if `HandlerOptions.forgoing` contained `proc`.
  public let crashTime: Timestamp
  /// The time from `startHandler` to the crash, by a monotonic clock; nil if the dump lacks it.
  ///
  /// A dump lacks this time for the same reasons as `crashTime`.
  public let uptime: Duration?
  /// The signal's number, such as 11 for SIGSEGV; nil if it is missing from a truncated dump.
  public let signal: Int32?

  /// The crash as one line for a log.
  public var description: String {
    let name = signal.map { "signal \($0)" } ?? "a crash"
    let after = uptime.map { ", \($0.wholeMilliseconds) ms after startHandler" } ?? ""
    return "\(name) at \(crashTime)\(after) (report \(reportID))"
  }
}
