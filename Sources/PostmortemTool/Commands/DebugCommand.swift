internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump

/// The subcommand `postmortem debug [ID|PID|PROGRAM]`.
enum DebugCommand: Subcommand {
  static let name = "debug"
  static let summary = "open a report in LLDB"
  static let usage = [
    "[OPTION...] [ID|PID|PROGRAM|latest]", "[OPTION...] DIR/ [ID|PID|PROGRAM]",
    "[OPTION...] FILE",
  ]
  static let discussion = """
    Opens a report in LLDB, which replaces this process.

    The arguments are those of postmortem show; FILE is a minidump. Runs the LLDB that the environment variable \
    POSTMORTEM_LLDB names, or else the first lldb or lldb-NUMBER in PATH. LLDB searches for modules at their own \
    paths. gdb cannot read minidumps.
    """
  static let options: [CommandOption] = [
    .databaseToRead, .program, .processID,
    CommandOption(
      "--symbols", value: "DIR", completing: .directory,
      "also search DIR for modules and their debug files; may be given more than once"),
    CommandOption("--print", "print the command instead of running it"),
    .json("like --print, but as a JSON object with command, an array of its words"),
  ]
  static let operands = Operands(0...2, "ID", completing: .report)

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    let path = try ShownFile(arguments).path
    guard try InputFile.dump(at: path).slice(0..<4)?.elementsEqual("MDMP".utf8) == true else {
      throw ToolError(path: path, "not a minidump: see postmortem process")
    }
    var command = [try debugger()]
    for directory in arguments.values(of: "--symbols") {
      try InputFile.requireDirectory(directory)
      for setting in ["exec-search-paths", "debug-file-search-paths"] {
        // The directory's path is quoted for LLDB.
        let quoted = directory.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        command += ["-O", "settings append target.\(setting) \"\(quoted)\""]
      }
    }
    command += ["-c", path]
    guard !arguments.has("--json") else {
      return try StandardOutput.print(JSON.line(of: ["command": command]))
    }
    guard !arguments.has("--print") else {
      return try StandardOutput.print(command.map(\.quotedForShell).joined(separator: " ") + "\n")
    }
    let words = unsafe command.map { unsafe strdup($0) } + [nil]
    unsafe execv(command[0], words)
    throw ToolError(path: command[0], ToolError.text(errno))
  }

  private static func debugger() throws(ToolError) -> String {
    let environment = ProcessInfo.processInfo.environment
    if let path = environment["POSTMORTEM_LLDB"], !path.isEmpty { return path }
    for directory in (environment["PATH"] ?? "").split(separator: ":") {
      let names = InputFile.names(in: String(directory)).filter {
        $0 == "lldb" || ($0.hasPrefix("lldb-") && $0.dropFirst(5).allSatisfy(\.isNumber))
      }
      // In each directory, `lldb` is preferred to names with a version number such as `lldb-19`; among the latter, the
      // highest number is used.
      let best = names.max {
        ($0 == "lldb" ? 1 : 0, $0.count, $0) < ($1 == "lldb" ? 1 : 0, $1.count, $1)
      }
      if let best { return "\(directory)/\(best)" }
    }
    throw ToolError("no lldb in PATH: install the Swift toolchain or a package such as lldb-19")
  }
}
