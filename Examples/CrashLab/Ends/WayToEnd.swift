/// A way to end, or to wait for an end from outside, that leaves no dump.
struct WayToEnd: Sendable {
  let name: String
  let summary: String
  /// Ends the process, or waits; ends by returning from main where it comes back.
  let run: @Sendable (End) throws -> Void

  init(_ name: String, _ summary: String, run: @escaping @Sendable (End) throws -> Void) {
    self.name = name
    self.summary = summary
    self.run = run
  }

  static let all: [WayToEnd] = exits + processes + waits
}
