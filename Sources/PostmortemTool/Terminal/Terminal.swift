internal import CrashReport
internal import Foundation

/// Writes to standard output and standard error.
enum Terminal {
  /// Writes text to standard output.
  static func print(_ text: String) {
    write(text, to: 1)
  }

  /// Writes a message to standard error, preceded by the program's name.
  static func printError(_ text: String) {
    write("postmortem: \(text)\n", to: 2)
  }

  /// Writes text to standard error, without a prefix or a line feed.
  static func printProgress(_ text: String) {
    write(text, to: 2)
  }

  /// Writes text to a descriptor; stops if a write fails.
  ///
  /// - Returns: true if all of the text was written.
  @discardableResult
  fileprivate static func write(_ text: String, to descriptor: Int32) -> Bool {
    write(Array(text.utf8)[...], to: descriptor)
  }

  /// Writes bytes to a descriptor; stops if a write fails.
  ///
  /// - Returns: true if all of the bytes were written.
  static func write(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
    var bytes = bytes
    while !bytes.isEmpty {
      let written = unsafe bytes.withUnsafeBytes {
        unsafe Foundation.write(descriptor, $0.baseAddress, $0.count)
      }
      if written < 0 && errno == EINTR { continue }
      guard written > 0 else { return false }
      bytes = bytes.dropFirst(written)
    }
    return true
  }

  /// Writes text to standard output; on a terminal, through the program that PAGER names or, without PAGER, through
  /// less.
  ///
  /// Source: POSIX.1-2024, man, "PAGER"; less(1), LESS.
  static func page(_ text: String) {
    guard isatty(1) == 1 else { return print(text) }
    let pager = Process()
    let pipe = Pipe()
    let environment = ProcessInfo.processInfo.environment
    pager.executableURL = URL(fileURLWithPath: "/bin/sh")
    // With these options, less quits if the text fits on one screen, and passes colors on to the terminal.
    pager.environment = ["LESS": "FRX"].merging(environment) { $1 }
    pager.arguments = ["-c", environment["PAGER"].flatMap { $0.isEmpty ? nil : $0 } ?? "less"]
    pager.standardInput = pipe
    // If the pager ends before it has read everything, the rest of the text is dropped. Without this call, SIGPIPE
    // would end this command.
    signal(SIGPIPE, SIG_IGN)
    guard (try? pager.run()) != nil else { return print(text) }
    try? pipe.fileHandleForReading.close()
    write(text, to: pipe.fileHandleForWriting.fileDescriptor)
    try? pipe.fileHandleForWriting.close()
    pager.waitUntilExit()
    // The shell ends with status 127 if the command does not exist. The text is then printed without a pager.
    if pager.terminationStatus == 127 { print(text) }
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

/// A file named on the command line, to which output is written.
enum OutputFile {
  /// Writes a text into a new file, which then replaces the regular file at the path.
  ///
  /// If there is a file of another kind, such as /dev/stdout, the text is written into that file.
  static func write(_ text: String, to path: String) throws(ToolError) {
    try replace(path) { descriptor throws(ToolError) in
      guard Terminal.write(text, to: descriptor) else {
        throw ToolError(path: path, ToolError.text(errno))
      }
    }
  }

  /// Replaces a file in the same way as `write`, with the bytes that `contents` writes to its argument, a descriptor.
  ///
  /// If the path is a regular file or does not exist, `contents` can also read from the descriptor.
  static func replace(
    _ path: String, with contents: (Int32) throws(ToolError) -> Void
  ) throws(ToolError) {
    var status = stat()
    let isThere = unsafe lstat(path, &status) == 0
    let isOther = isThere && status.st_mode & S_IFMT != S_IFREG
    let target = isOther ? path : "\(path).\(getpid()).tmp"
    let flags = isOther ? O_WRONLY | O_TRUNC : O_RDWR | O_CREAT | O_EXCL
    let descriptor = unsafe open(target, flags | O_CLOEXEC | O_NOCTTY, 0o666)
    guard descriptor >= 0 else { throw ToolError(path: path, ToolError.text(errno)) }
    if isThere, !isOther { fchmod(descriptor, status.st_mode & 0o777) }
    do throws(ToolError) {
      defer { close(descriptor) }
      try contents(descriptor)
    } catch {
      if !isOther { unsafe unlink(target) }
      throw error
    }
    if isOther { return }
    guard unsafe rename(target, path) == 0 else {
      let reason = errno
      unsafe unlink(target)
      throw ToolError(path: path, ToolError.text(reason))
    }
  }
}

/// Writes to standard output in pieces of at least 64 KiB; the caller calls `flush` for the last piece.
struct StandardOutput: TextOutputStream {
  private var buffer = ""

  mutating func write(_ string: String) {
    buffer += string
    if buffer.utf8.count >= 1 << 16 { flush() }
  }

  mutating func flush() {
    Terminal.print(buffer)
    buffer = ""
  }
}

/// JSON as this tool prints it.
///
/// The keys are sorted, the text ends in a line feed, and control characters that a terminal would act on are
/// escaped.
enum JSON {
  /// The JSON text of a value, indented.
  static func text(of value: some Encodable) throws -> String {
    try encoded(value, [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
  }

  /// The JSON text of a value on one line.
  static func line(of value: some Encodable) throws -> String {
    try encoded(value, [.sortedKeys, .withoutEscapingSlashes])
  }

  private static func encoded(
    _ value: some Encodable, _ formatting: JSONEncoder.OutputFormatting
  ) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = formatting
    return String(decoding: try encoder.encode(value), as: UTF8.self).escapedForJSON() + "\n"
  }
}

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
