public import IntermediateDump

/// One crash of a program, as far as a decision at its next start needs it.
public struct RecentCrash: Sendable, Equatable, CustomStringConvertible {
  public let reportID: ReportID
  /// By the clock of that time; the last change of the dump where a torn one does not say.
  public let crashTime: Timestamp
  /// The time from `startHandler` to the crash, by a clock that nobody sets; nil where a torn dump
  /// does not say.
  public let uptime: Duration?
  /// 11 for SIGSEGV, and so on; nil where a torn dump does not say.
  public let signal: Int32?

  /// One line for a log.
  public var description: String {
    let name = signal.map { "signal \($0)" } ?? "a crash"
    let after = uptime.map { ", \($0.wholeMilliseconds) ms after startHandler" } ?? ""
    return "\(name) at \(crashTime)\(after) (report \(reportID))"
  }
}
