import Testing

/// A crash of crash-lab whose handler is disturbed.
struct Scene: Sendable, Hashable, CustomTestStringConvertible {
  let kind: String
  var place = "main"
  /// Threads other than the crashing one.
  var sleepers = 3
  /// Additional arguments of crash-lab.
  var more: [String] = []

  var testDescription: String { arguments.joined(separator: " ") }

  var arguments: [String] {
    [kind, "--on", place, "--threads", "\(sleepers)"] + more
  }

  /// A fault, an abort, and Swift's own fatal error: alone, with other threads, and on a worker that blocks
  /// signals.
  ///
  /// One of them prints a summary, which doubles the number of calls.
  static let all: [Scene] = [
    Scene(kind: "null-read", more: silent), Scene(kind: "abort"),
    Scene(kind: "fatal-error", more: silent),
    Scene(kind: "fatal-error", sleepers: 0, more: silent),
    Scene(kind: "null-read", place: "dispatch", more: silent),
  ]

  private static let silent = ["--no-summary"]
}
