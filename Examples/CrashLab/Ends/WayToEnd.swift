/// A way to end the process, or to wait until another process ends it, that the tests select by name.
struct WayToEnd: Sendable {
  let name: String
  let summary: String
  /// Ends the process, or waits; if it returns, the process ends by returning from main.
  let run: @Sendable (End) throws -> Void

  init(_ name: String, _ summary: String, run: @escaping @Sendable (End) throws -> Void) {
    self.name = name
    self.summary = summary
    self.run = run
  }

  static let all: [WayToEnd] = exits + processes + waits
}
