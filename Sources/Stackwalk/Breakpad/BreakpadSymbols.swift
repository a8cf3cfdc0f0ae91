internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot

/// A Breakpad symbol file for a binary: functions, lines, inlined calls and call frame information as text.
///
/// The text is written in pieces, so it is never in memory as a whole. `WorkLimit` limits the memory and the work; how
/// much work is allowed depends on the size of the binary. The same binary with the same file name gives the same bytes
/// each time.
///
/// Source: Breakpad's docs/symbol_files.md.
package struct BreakpadSymbols {
  /// The maximum number of bytes that the readers of the binary keep in memory.
  private static let maximumBytes = 384 << 20
  /// The maximum number of bytes of text for each byte of the binary, in addition to 16 MiB.
  private static let growth = 16

  private let image: ELFImage
  private let base: Address
  private let machine: BreakpadMachine
  private let moduleName: String

  /// The binary's build ID; never empty.
  package let buildID: [UInt8]

  /// Opens the binary and checks that a symbol file can be made from it.
  ///
  /// - Throws: `StackwalkError` if the binary cannot be read, has no build ID, or has neither symbols nor debug
  ///   information.
  package init(of path: String) throws(StackwalkError) {
    image = try ELFImage(path: path)
    buildID = image.elf.buildID
    guard buildID.count > 1 else { throw StackwalkError(.noBuildID, path: path) }
    guard image.hasSymbolTable || image.hasDebugInformation else {
      throw StackwalkError(.noSymbols, path: path)
    }
    guard let base = image.elf.firstAddress,
      let machine = image.elf.file.bytes(at: 18, count: 2)?.littleEndian(at: 0, as: UInt16.self)
    else { throw StackwalkError(.notELF, path: path) }
    self.base = base
    self.machine = BreakpadMachine(elfMachine: machine)
    moduleName = BreakpadNames.line(Self.moduleName(path))
  }

  /// The name that the module has in dumps, which is the file's name after symbolic links have been followed.
  private static func moduleName(_ path: String) -> String {
    guard let resolved = unsafe realpath(path, nil) else {
      return path.split(separator: "/").last.map { String($0) } ?? path
    }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved).split(separator: "/").last.map { String($0) } ?? path
  }

  /// The build ID in the form that Breakpad's tools use.
  ///
  /// The debug ID consists of the first 16 bytes of the build ID as a GUID with little-endian fields, and an age of
  /// 0.
  package var debugID: String {
    let bytes = Array((buildID + [UInt8](repeating: 0, count: 16)).prefix(16))
    let order = [3, 2, 1, 0, 5, 4, 7, 6] + Array(8..<16)
    return order.map { bytes[$0] }.hexadecimal.uppercased() + "0"
  }

  /// The path of the symbol file below a directory of Breakpad symbols.
  package var name: String { "\(moduleName)/\(debugID)/\(moduleName).sym" }

  /// Writes the text to an empty regular file that is open for reading and writing.
  ///
  /// - Returns: why records are missing, if debug information could not be read or a limit was reached; otherwise
  ///   nil.
  /// - Throws: `StackwalkError` with the errno if writing fails.
  package func write(to descriptor: Int32, named target: String) throws(StackwalkError) -> String? {
    let size = Int(clamping: min(image.elf.file.size, 1 << 40))
    let limit = WorkLimit(
      steps: WorkLimit.maximumSteps + 64 * size, bytes: Self.maximumBytes)
    var output = BreakpadOutput(
      to: descriptor, named: target, maximumSize: (16 << 20) + Self.growth * size)
    var functions = BreakpadFunctions(of: image, base: base, limit)
    functions.write(to: &output)
    if let frames = BreakpadFrames(of: machine, base: base, limit) {
      frames.write(CFITable(of: image, limit), to: &output)
    }
    let header =
      "MODULE Linux \(machine.name) \(debugID) \(moduleName)\n"
      + "INFO CODE_ID \(buildID.hexadecimal.uppercased())\n"
    try output.finish(after: Array((header + functions.names.records).utf8))
    let cut = output.isCut ? "its symbols are too long for its size" : nil
    let notes = [functions.note, limit.note, cut].compactMap(\.self)
    return notes.isEmpty ? nil : notes.joined(separator: "; ")
  }
}
