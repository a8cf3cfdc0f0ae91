internal import Foundation
internal import IntermediateDump
internal import Stackwalk

/// The subcommand `postmortem symbols BINARY... -o DIR`.
enum SymbolsCommand: Subcommand {
  static let name = "symbols"
  static let summary = "keep the symbols of a build, by build ID"
  static let help = """
    Writes the symbols and debug information of binaries as debug files, by build ID.

    Usage: postmortem symbols BINARY... -o DIR [--json]

    DIR/.build-id/ab/cdef....debug is made for each binary: its symbol table and its debug information,
    without code and data. Run it on the binaries of a build before they are stripped, and keep DIR; the
    symbols of any number of builds lie beside each other. postmortem show --symbols DIR reads them, and
    so do gdb (set debug-file-directory DIR), LLDB and debuginfod. Prints the path of each file.

      -o DIR  the directory, made if it is not there
      --json  print a JSON array of objects with binary, buildID and debugFile

    Exit status: 0 if every binary has its file; 1 if one is stripped already, has no build ID, or cannot
    be read.

    """

  /// An element of the JSON.
  struct Entry: Codable {
    let binary: String
    let buildID: String
    let debugFile: String
  }

  static func run(_ words: [String]) throws {
    let arguments = try Arguments(
      words, flags: ["--json"], options: ["-o"], operands: 1...Int.max, help: help)
    guard let directory = arguments["-o"] else {
      throw ToolError.usage("-o DIR is missing", help: help)
    }
    var entries: [Entry] = []
    // A mistake in one is found before anything is written.
    for binary in arguments.operands { _ = try opened(binary) }
    for binary in arguments.operands {
      let file = try opened(binary)
      let path = "\(directory)/\(file.name)"
      try makeDirectory((path as NSString).deletingLastPathComponent)
      try OutputFile.replace(path) { descriptor throws(ToolError) in
        do throws(StackwalkError) {
          try file.write(to: descriptor, named: path)
        } catch {
          throw ToolError(path: error.path, error.reason)
        }
      }
      entries.append(
        Entry(binary: binary, buildID: file.buildID.hexadecimal, debugFile: path))
    }
    guard !arguments.has("--json") else { return Terminal.print(try JSON.text(of: entries)) }
    for entry in entries { Terminal.print(entry.debugFile + "\n") }
  }

  private static func opened(_ binary: String) throws(ToolError) -> DebugFile {
    do throws(StackwalkError) {
      return try DebugFile(of: binary)
    } catch {
      throw ToolError(path: error.path, error.reason)
    }
  }

  private static func makeDirectory(_ path: String) throws(ToolError) {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      let code = ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError)?.code
      throw ToolError(path: path, code.map { ToolError.text(Int32($0)) } ?? "\(error)")
    }
  }
}
