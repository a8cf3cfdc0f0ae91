internal import CrashHandler
internal import Foundation

/// The subcommand `postmortem doctor PID`.
enum DoctorCommand: Subcommand {
  static let name = "doctor"
  static let summary = "say whether a running process's crash would be captured"
  static let help = """
    Says whether a crash of a running process would be captured, and what stands in the way.

    Usage: postmortem doctor PID

    Looks from outside, at /proc: whether the process holds the locked file, FIFO and folder of a
    crash handler, whether it catches the signals that its run record names, and whether a thread
    blocks the signals that an instruction raises. Whose handler a signal has cannot be seen from
    outside: handlerStatus() in the process tells. Needs the right to trace the process: the same user,
    or root.

    Exit status: 0 all is well, 1 something stands in the way or PID cannot be looked at, 64 wrong usage.

    """

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, operands: 1...1, help: help)
    guard let processID = Int32(arguments.operands[0]), processID > 0 else {
      throw UsageError(
        "'\(arguments.operands[0].escapedForMessage)' is not a process ID", help: help)
    }
    let examination = try ProcessExamination(processID)
    for line in examination.lines { Terminal.print(line.escapedForMessage + "\n") }
    if !examination.isHealthy { throw QuietFailure() }
  }
}
