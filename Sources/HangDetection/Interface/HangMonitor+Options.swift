extension HangMonitor {
  /// The options for a monitor.
  public struct Options: Sendable, Equatable {
    /// The time without an answer after which the watched part counts as hung; at least 100 milliseconds.
    public var threshold = Duration.seconds(5)
    /// Whether a report is created even for a hang that has ended; each monitor keeps at most 16 such reports.
    public var keepsRecovered = false

    /// Creates options; by default, the threshold is 5 seconds, and no report is created for a hang that has ended.
    public init(threshold: Duration = .seconds(5), keepsRecovered: Bool = false) {
      self.threshold = threshold
      self.keepsRecovered = keepsRecovered
    }
  }
}
