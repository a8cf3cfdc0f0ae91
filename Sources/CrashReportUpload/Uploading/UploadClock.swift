internal import Foundation

/// Time and chance, which tests replace.
struct UploadClock: Sendable {
  /// Seconds since 1970.
  var now: @Sendable () -> Int64
  /// Returns after so many seconds, or early when the task is cancelled.
  var sleep: @Sendable (Int64) async -> Void
  /// From 0 to 1.
  var random: @Sendable () -> Double

  static let system = UploadClock(
    now: { Int64(Date().timeIntervalSince1970) },
    sleep: { seconds in try? await Task.sleep(for: .seconds(seconds)) },
    random: { Double.random(in: 0...1) })
}
