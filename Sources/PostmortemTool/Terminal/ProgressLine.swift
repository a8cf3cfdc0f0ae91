internal import Glibc

/// A line on standard error that counts the steps of long work, and is removed when the work is done.
///
/// The line is printed only on a terminal, because each step would add to a log.
final class ProgressLine {
  private let isShown: Bool
  private let subject: String
  private var shown: String?

  init(_ subject: String, isQuiet: Bool = false) {
    self.subject = subject
    isShown = !isQuiet && isatty(2) == 1
  }

  /// Shows the count; shows nothing if there is only one step.
  func update(_ done: Int, of count: Int) {
    guard count > 1 else { return }
    show("\(done) of \(count)")
    if done == count { clear() }
  }

  func show(_ text: String) {
    guard isShown, text != shown else { return }
    Terminal.printProgress("\r\u{1B}[K\(subject) \(text)")
    shown = text
  }

  /// Removes the progress line from the terminal, so that something else can be printed.
  func clear() {
    guard shown != nil else { return }
    Terminal.printProgress("\r\u{1B}[K")
    shown = nil
  }
}
