extension HangMonitor {
  /// The options for a monitor.
  public struct Options: Sendable, Equatable {
    /// The time without an answer after which the watched part counts as hung; at least 100 milliseconds.
    public var threshold = Duration.seconds(5)
    /// Whether a report is created even for a hang that has ended; each monitor keeps at most 16 such reports.
    public var keepsRecovered = false
    /// Whether the monitor writes a line to standard error when a hang begins, and one when it ends.
    ///
    /// Each monitor writes at most one pair of lines in five minutes. Nothing is written if the write could wait, for
    /// example because a pipe is full, if `HandlerOptions.writesSummary` is off, or if `HandlerOptions.privacy` is
    /// `sanitized`.
    public var writesSummary = true

    /// Creates options; by default, the threshold is 5 seconds, no report is created for a hang that has ended, and
    /// lines are written.
    public init(
      threshold: Duration = .seconds(5), keepsRecovered: Bool = false, writesSummary: Bool = true
    ) {
      self.threshold = threshold
      self.keepsRecovered = keepsRecovered
      self.writesSummary = writesSummary
    }
  }
}
