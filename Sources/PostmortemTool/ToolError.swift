internal import CrashReport

/// A command line that makes no sense; exit status 64.
struct UsageError: Error, CustomStringConvertible {
  let reason: String
  private let help: String

  init(_ reason: String, help: String) {
    self.reason = reason
    self.help = help
  }

  var description: String {
    let usage = help.split(separator: "\n").first { $0.hasPrefix("Usage:") } ?? ""
    return "\(reason)\n\(usage)"
  }
}

/// What could not be done, and with which file; exit status 1 unless it says otherwise.
struct ToolError: Error, CustomStringConvertible {
  let description: String
  var exitStatus: Int32 = 1

  init(_ reason: String) { description = reason }

  /// Names a file, whatever its name holds, in front of the reason.
  init(path: String, _ reason: some CustomStringConvertible) {
    description = "\(path.escapedForMessage): \(reason.description.escapedForMessage)"
  }
}

/// What was printed already, as a result; exit status 1.
struct QuietFailure: Error {}

extension String {
  /// Fit for one line of a terminal, whatever a file name or a dump put into it.
  var escapedForMessage: String { escapedForTerminal() }
}
