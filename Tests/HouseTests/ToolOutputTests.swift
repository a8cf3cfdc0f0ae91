import Foundation
import Testing

/// The command writes to its standard streams in one way, which notices lost output.
@Suite struct ToolOutputTests {
  /// Functions and variables that print or write, or run programs that might.
  private static let names: Set = [
    "debugPrint", "dprintf", "fprintf", "fputc", "fputs", "fwrite", "perror", "popen",
    "print", "printf", "putc", "putchar", "puts", "system", "vfprintf", "vprintf", "write",
    "writev",
  ]
  /// Descriptors and streams, and types that hide them.
  private static let variables: Set = [
    "NSLog", "Process", "STDERR_FILENO", "STDOUT_FILENO", "stderr", "stdout", "standardError",
    "standardOutput",
  ]
  /// The files that may use a name.
  private static let exceptions: [String: Set<String>] = [
    "write": ["Output.swift"],
    "Output.write": [
      "OutputFile.swift", "Pager.swift", "StandardOutput.swift", "Terminal.swift",
    ],
    "STDOUT_FILENO": ["OutputFile.swift", "StandardOutput.swift"],
    "STDERR_FILENO": ["OutputFile.swift", "Terminal.swift"],
  ]

  private static func violations(_ path: String, _ text: String) -> [String] {
    let tokens = SwiftTokens(text).tokens.map(\.text)
    let file = String(path.split(separator: "/").last ?? "")
    // A call without a type is one of a function that the file declares, if it declares one of this name.
    let own = Set(zip(tokens, tokens.dropFirst()).filter { $0.0 == "func" }.map(\.1))
    var found: [String] = []
    for (index, token) in tokens.enumerated() {
      let before = index > 0 ? tokens[index - 1] : ""
      let owner = before == "." && index > 1 ? tokens[index - 2] : ""
      let isCall = index + 1 < tokens.count && tokens[index + 1] == "("
      if names.contains(token), isCall, before != "func" {
        let isOfSystem = ["Foundation", "Glibc", "Swift"].contains(owner)
        if isOfSystem || (before != "." && !own.contains(token)) { found.append(token) }
      }
      if variables.contains(token), token != "Process" || isCall { found.append(token) }
      if token == "write", owner == "Output" { found.append("Output.write") }
    }
    return Set(found).filter { exceptions[$0]?.contains(file) != true }.map { "\(file): \($0)" }
      .sorted()
  }

  @Test func everythingIsPrintedThroughOneType() throws {
    let files = try House.swiftFiles(in: "Sources/PostmortemTool")
    #expect(files.contains { $0.path.hasSuffix("/StandardOutput.swift") })
    for file in files { #expect(Self.violations(file.path, file.text) == []) }
  }

  @Test(arguments: [
    ("print(text)", "print"), ("Swift.print(1)", "print"), ("fputs(text, stdout)", "fputs"),
    ("unsafe write(1, bytes, 3)", "write"), ("Foundation.write(1, bytes, 3)", "write"),
    ("FileHandle.standardOutput.write(data)", "standardOutput"), ("Process()", "Process"),
    ("try Output.write(bytes, to: 1, named: name)", "Output.write"),
    ("var stream = stdout", "stdout"),
  ])
  func anotherWayIsFound(_ code: String, _ name: String) {
    #expect(Self.violations("Sources/PostmortemTool/X.swift", code).contains("X.swift: " + name))
  }

  @Test func whatOnlyLooksLikeItIsNotFound() {
    let code = """
      try StandardOutput.print(text)
      func write(_ text: String) {}
      write(text)
      file.write(bytes)
      // print(text)
      let text = "print(1)"
      """
    #expect(Self.violations("Sources/PostmortemTool/X.swift", code) == [])
  }
}
