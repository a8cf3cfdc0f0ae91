internal import Foundation

/// One line on standard error that says how far long work has come, and goes when it is done.
///
/// Only on a terminal: a log would be full of it.
final class ProgressLine {
  private let isShown = isatty(2) == 1
  private let verb: String
  private var isThere = false

  init(_ verb: String) { self.verb = verb }

  /// Shows it; work that is done at once shows nothing.
  func update(_ done: Int, of count: Int) {
    guard isShown, count > 1 else { return }
    Terminal.printProgress("\r\u{1B}[K\(verb) \(done) of \(count)")
    isThere = true
    if done == count { clear() }
  }

  /// Takes the line away, for something else to be printed.
  func clear() {
    guard isThere else { return }
    Terminal.printProgress("\r\u{1B}[K")
    isThere = false
  }
}
