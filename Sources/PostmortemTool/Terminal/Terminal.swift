internal import FoundationEssentials
internal import Glibc

/// The terminal, and messages on standard error.
enum Terminal {
  /// Writes a message to standard error, preceded by the program's name.
  static func printError(_ text: String) {
    printProgress("postmortem: \(text)\n")
  }

  /// Writes text to standard error, without a prefix or a line feed; a failure is ignored, because no other stream
  /// could report it.
  static func printProgress(_ text: String) {
    try? Output.write(Array(text.utf8)[...], to: STDERR_FILENO, named: "standard error")
  }

  /// Opens the standard descriptors that the caller has closed, so that no file of a database gets their numbers.
  ///
  /// Reading or writing them fails with EBADF, as if they were closed, and they are closed in other programs.
  static func reserveDescriptors() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      _ = unsafe open(
        "/dev/null", (descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC)
    }
  }

  /// True if standard output is a terminal.
  static var isOutput: Bool { isatty(1) == 1 }

  /// True if standard input and standard error are terminals, which a question to the user needs.
  static var canAsk: Bool { isatty(0) == 1 && isatty(2) == 1 }

  /// Asks a question on the terminal; every answer except "y" and "yes" means no.
  static func ask(_ question: String) -> Bool {
    printProgress(question + " [y/N] ")
    guard let answer = readLine() else {
      printProgress("\n")
      return false
    }
    return ["y", "yes"].contains(answer.lowercased().filter { $0 != " " })
  }

  /// The number of columns if standard output is not a terminal.
  static let widthOfFiles = 100

  /// The number of columns of the terminal on standard output; `widthOfFiles` if it is no terminal.
  static var width: Int {
    var size = winsize()
    guard unsafe ioctl(1, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else {
      return widthOfFiles
    }
    return Int(size.ws_col)
  }

  /// True if standard output is a terminal for which color is not turned off.
  ///
  /// Source: no-color.org.
  static var usesColor: Bool {
    let environment = ProcessInfo.processInfo.environment
    return isatty(1) == 1 && (environment["NO_COLOR"] ?? "").isEmpty
      && environment["TERM"] != "dumb"
  }
}
