/// How long to wait after failures: twice as long each time, and never the same for two clients.
enum UploadBackoff {
  /// After the first failure, in seconds.
  static let shortest: Int64 = 60
  static let longest: Int64 = 8 * 3600

  /// Seconds after a number of failures, of which at least half is waited.
  ///
  /// - Parameter random: from 0 to 1; spreads clients that failed at the same moment.
  static func delay(failures: Int, random: Double) -> Int64 {
    let doublings = min(max(failures, 1) - 1, 16)
    let full = min(shortest << Int64(doublings), longest)
    let share = (0...1).contains(random) ? random : 1
    return full / 2 &+ (Int64(exactly: (Double(full &- full / 2) * share).rounded(.down)) ?? 0)
  }
}
