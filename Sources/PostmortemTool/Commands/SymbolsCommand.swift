internal import FoundationEssentials
internal import Glibc
internal import IntermediateDump
internal import Stackwalk

/// The subcommand `postmortem symbols BINARY... -o DIR`.
enum SymbolsCommand: Subcommand {
  static let name = "symbols"
  static let summary = "save the symbols of binaries, by build ID"
  static let usage = ["-o DIR [--json] BINARY..."]
  static let discussion = """
    Writes the symbols and debug information of binaries, by build ID, in two formats that other tools read.

    For each binary it writes two files:

      DIR/.build-id/ab/cdef....debug  symbol table and debug information, without
                                      code and data. postmortem show --symbols DIR
                                      reads it, and so do gdb (set
                                      debug-file-directory DIR), LLDB, debuginfod.
      DIR/NAME/DEBUGID/NAME.sym       Breakpad's text: functions, lines, inlined
                                      calls and call frame information. DIR is the
                                      symbol store of minidump_stackwalk and of
                                      Mozilla's and Sentry's processors.

    Run it on the binaries of a build before they are stripped, and keep DIR, which can hold the symbols of any \
    number of builds. Prints the path of each file.
    """
  static let options: [CommandOption] = [
    CommandOption(
      "-o, --output", value: "DIR", completing: .directory,
      "the directory, which is created if it does not exist"),
    .json(
      "print a JSON array of objects with binary, buildID, debugFile, debugID and breakpadFile"),
  ]
  static let operands = Operands(1...Int.max, "BINARY", completing: .file)
  static let closing = """
    Exit status: 0 if both files of every binary were written; 1 if a binary is already stripped, has no build ID, \
    or cannot be read.
    """

  /// The files that were written for one binary, as an element of the JSON output.
  struct Entry: Codable {
    let binary: String
    let buildID: String
    let debugFile: String
    let debugID: String
    let breakpadFile: String
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(words, of: self)
    guard let directory = arguments["--output"] else {
      throw arguments.usage("missing option: -o DIR")
    }
    var entries: [Entry] = []
    // All files are read first, so that a mistake is reported before anything is written.
    for binary in arguments.operands { _ = try read(binary) }
    for binary in arguments.operands {
      let (file, breakpad) = try read(binary)
      let entry = Entry(
        binary: binary, buildID: file.buildID.hexadecimal, debugFile: "\(directory)/\(file.name)",
        debugID: breakpad.debugID, breakpadFile: "\(directory)/\(breakpad.name)")
      try write(to: entry.debugFile) { descriptor throws(StackwalkError) in
        try file.write(to: descriptor, named: entry.debugFile)
      }
      try write(to: entry.breakpadFile) { descriptor throws(StackwalkError) in
        let note = try breakpad.write(to: descriptor, named: entry.breakpadFile)
        if let note { Terminal.printError("\(binary): \(note)") }
      }
      entries.append(entry)
    }
    guard !arguments.has("--json") else { return try StandardOutput.print(JSON.text(of: entries)) }
    for entry in entries { try StandardOutput.print("\(entry.debugFile)\n\(entry.breakpadFile)\n") }
  }

  private static func read(_ binary: String) throws(ToolError) -> (DebugFile, BreakpadSymbols) {
    do throws(StackwalkError) {
      return (try DebugFile(of: binary), try BreakpadSymbols(of: binary))
    } catch {
      throw ToolError(path: error.path, error.reason)
    }
  }

  /// Writes a file, and creates the directory that contains it.
  private static func write(
    to path: String, _ contents: (Int32) throws(StackwalkError) -> Void
  ) throws(ToolError) {
    try makeDirectory(path.parentPath)
    try OutputFile.replace(path) { descriptor throws(ToolError) in
      do throws(StackwalkError) {
        try contents(descriptor)
      } catch {
        throw ToolError(path: error.path, error.reason)
      }
    }
  }

  private static func makeDirectory(_ path: String) throws(ToolError) {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      let code = ((error as? CocoaError)?.underlying as? POSIXError)?.code.rawValue
      throw ToolError(path: path, code.map(ToolError.text) ?? "\(error)")
    }
  }
}
