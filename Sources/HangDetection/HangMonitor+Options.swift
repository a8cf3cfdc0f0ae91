extension HangMonitor {
  /// The options of a monitor.
  public struct Options: Sendable, Equatable {
    /// The time without an answer that counts as a hang; at least 100 milliseconds.
    public var threshold = Duration.seconds(5)
    /// Whether a hang that ended gets a report too; at most 16 for each process.
    public var keepsRecovered = false

    /// Makes options; by default 5 seconds, and no report of a hang that ended.
    public init(threshold: Duration = .seconds(5), keepsRecovered: Bool = false) {
      self.threshold = threshold
      self.keepsRecovered = keepsRecovered
    }
  }
}
