import Testing

/// A crash of crash-lab whose handler is disturbed.
struct Scene: Sendable, Hashable, CustomTestStringConvertible {
  let kind: String
  var place = "main"
  /// Threads beside the crashing one.
  var sleepers = 3
  /// What crash-lab is told beside these.
  var more: [String] = []

  var testDescription: String { "\(kind) on \(place) with \(sleepers) threads more" }

  var arguments: [String] {
    [kind, "--on", place, "--threads", "\(sleepers)"] + more
  }

  /// A fault, an abort, and Swift's own end alone, in company, and on a worker that blocks signals.
  static let all: [Scene] = [
    Scene(kind: "null-read"), Scene(kind: "abort"), Scene(kind: "fatal-error"),
    Scene(kind: "fatal-error", sleepers: 0), Scene(kind: "null-read", place: "dispatch"),
  ]
}
