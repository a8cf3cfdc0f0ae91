internal import Foundation

/// Standard output and standard error.
enum Terminal {
  /// Writes text to standard output.
  static func print(_ text: String) {
    write(text, to: 1)
  }

  /// Writes a message to standard error, with the program's name in front.
  static func printError(_ text: String) {
    write("postmortem: \(text)\n", to: 2)
  }

  /// Writes to standard error what is no message.
  static func printProgress(_ text: String) {
    write(text, to: 2)
  }

  /// Writes all of it or, where the reader has gone, no more.
  private static func write(_ text: String, to descriptor: Int32) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let written = unsafe bytes.withUnsafeBytes {
        unsafe Foundation.write(descriptor, $0.baseAddress, $0.count)
      }
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { return }
      bytes = bytes.dropFirst(written)
    }
  }

  /// Columns where there is no terminal.
  static let widthOfFiles = 100

  /// Columns of the terminal on standard output.
  static var width: Int {
    var size = winsize()
    guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return widthOfFiles
    }
    return Int(size.ws_col)
  }

  /// Whether standard output is a terminal on which colour is not turned off.
  ///
  /// Source: no-color.org.
  static var usesColor: Bool {
    let environment = ProcessInfo.processInfo.environment
    return isatty(1) == 1 && (environment["NO_COLOR"] ?? "").isEmpty
      && environment["TERM"] != "dumb"
  }
}
