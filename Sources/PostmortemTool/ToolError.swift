internal import CrashAnalysis
internal import CrashReport
internal import CrashReportDatabase

/// The failure of a command: a message for standard error, and an exit status.
struct ToolError: Error, CustomStringConvertible, Equatable {
  /// The message; empty if the failure was already printed as a part of the output.
  let description: String
  let exitStatus: Int32

  private init(_ description: String, exitStatus: Int32) {
    self.description = description
    self.exitStatus = exitStatus
  }

  init(_ reason: String) { self.init(reason, exitStatus: 1) }

  /// Puts a file's name before the reason, and escapes control characters in both.
  init(path: String, _ reason: some CustomStringConvertible, exitStatus: Int32 = 1) {
    self.init(
      "\(path.escapedForMessage): \(reason.description.escapedForMessage)", exitStatus: exitStatus)
  }

  /// An error in the command line: the reason, followed by the usage lines of the command's help and the command that
  /// shows all of it.
  ///
  /// - Parameter printsHelp: true to show all of the help.
  ///
  /// Source: sysexits.h, EX_USAGE.
  static func usage(_ reason: String, help: String, printsHelp: Bool = false) -> ToolError {
    guard !printsHelp else { return ToolError("\(reason)\n\n\(help)", exitStatus: 64) }
    // The usage text is the part of the help from the line "Usage:" to the next empty line.
    let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
    let usage = lines.drop { !$0.hasPrefix("Usage:") }.prefix { !$0.isEmpty }
    // The usage line is "Usage: postmortem NAME ...", without a name for the command itself.
    let name = usage.first?.split(separator: " ").dropFirst(2).first.flatMap {
      $0.allSatisfy(\.isLetter) && $0.first?.isLowercase == true ? " \($0)" : nil
    }
    let more = "More: postmortem help\(name ?? "")"
    return ToolError(
      "\(reason)\n\(usage.joined(separator: "\n"))\n\(more)", exitStatus: 64)
  }

  /// The same error with another exit status.
  func exiting(with exitStatus: Int32) -> ToolError {
    ToolError(description, exitStatus: exitStatus)
  }

  /// The same error with further text at the end of its first line.
  func adding(_ text: String) -> ToolError {
    var lines = description.split(separator: "\n", omittingEmptySubsequences: false).map(
      String.init)
    lines[0] += text
    return ToolError(lines.joined(separator: "\n"), exitStatus: exitStatus)
  }

  /// The error as a JSON object on one line.
  var json: String {
    struct Failure: Encodable {
      let error: String
      let exitStatus: Int32
    }
    return (try? JSON.line(of: Failure(error: description, exitStatus: exitStatus))) ?? "{}\n"
  }

  /// A failure with exit status 1 that prints no further message.
  static let printed = ToolError("", exitStatus: 1)

  /// The reader of a pipe has closed it and wants no more output, which is no failure.
  static let unread = ToolError("", exitStatus: 0)

  /// The system's text for an error number, such as "No such file or directory".
  static func text(_ errno: Int32) -> String { CrashReportDatabaseError.text(errno) }
}

extension String {
  /// The text with control characters escaped, so that the text stays on one line of a terminal.
  var escapedForMessage: String { escapedForTerminal() }
}
