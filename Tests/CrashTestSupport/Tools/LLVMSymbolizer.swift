internal import Foundation

/// The toolchain's `llvm-symbolizer`, or the one in PATH.
public enum LLVMSymbolizer {
  /// One function at an address.
  public struct Frame: Hashable, Sendable, CustomStringConvertible {
    /// The linkage name; "??" if it is unknown.
    public var function: String
    /// The source file; "??" if it is unknown.
    public var file: String
    public var line: Int
    public var column: Int

    public init(function: String, file: String, line: Int, column: Int) {
      self.function = function
      self.file = file
      self.line = line
      self.column = column
    }

    public var description: String { "\(function) \(file):\(line):\(column)" }
  }

  /// The path next to the Swift compiler, else in PATH.
  public static var path: String? {
    let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
      .map(String.init)
    let isProgram = { FileManager.default.isExecutableFile(atPath: $0) }
    let compiler = directories.map { $0 + "/swiftc" }.first(where: isProgram)
    let beside = compiler.map {
      URL(fileURLWithPath: $0).resolvingSymlinksInPath().deletingLastPathComponent().path
    }
    return ([beside].compactMap { $0 } + directories).map { $0 + "/llvm-symbolizer" }
      .first(where: isProgram)
  }

  /// Looks up addresses that are relative to a file.
  ///
  /// - Parameter directory: a directory for the list of addresses; the caller makes and removes it.
  ///
  /// - Returns: the frames for each address, innermost first.
  public static func frames(
    at addresses: [UInt64], of file: String, directory: String
  ) async throws -> [[Frame]] {
    guard let path else { throw OutsideToolError("no llvm-symbolizer in the toolchain or PATH") }
    let list = directory + "/addresses-\(UUID().uuidString)"
    let text = addresses.map { "0x" + String($0, radix: 16) }.joined(separator: "\n")
    try text.write(toFile: list, atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      path,
      ["--obj=\(file)", "--inlines", "--functions=linkage", "--no-demangle", "@\(list)"],
      in: directory, environment: ["DEBUGINFOD_URLS": ""], patience: 300)
    guard child.end.exitCode == 0 else {
      throw OutsideToolError("llvm-symbolizer: \(child.end)\n\(child.standardError)")
    }
    let answers = parse(child.standardOutput)
    guard answers.count == addresses.count else {
      throw OutsideToolError("\(answers.count) answers to \(addresses.count) addresses")
    }
    return answers
  }

  /// Each frame has two lines, and an empty line follows each address.
  static func parse(_ output: String) -> [[Frame]] {
    var answers: [[Frame]] = []
    var frames: [Frame] = []
    var function: Substring?
    for line in output.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty {
        if !frames.isEmpty { answers.append(frames) }
        frames = []
        function = nil
      } else if let name = function {
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        frames.append(
          Frame(
            function: String(name), file: parts.dropLast(2).joined(separator: ":"),
            line: parts.dropLast().last.flatMap { Int($0) } ?? 0,
            column: parts.last.flatMap { Int($0) } ?? 0))
        function = nil
      } else {
        function = line
      }
    }
    return answers
  }
}
