import CrashTestSupport
import Foundation
import Testing

/// Commands that get the directory of a program's files by `--symbols`, after the program's own file was removed.
@Suite struct SymbolDirectoryTests {
  private let directory: SharedDirectory
  private let tool: String
  private var database: String { directory.path + "/database" }
  private var symbols: String { directory.path + "/symbols" }

  init() throws {
    directory = try SharedDirectory()
    tool = try BuiltProducts.besideTests("postmortem")
  }

  /// Leaves the dump of a program whose file is in `symbols` since.
  private func crash() async throws {
    let program = directory.path + "/service"
    try Spawn.copyProgram(BuiltProducts.besideTests("crash-lab"), to: program)
    let crash = try await ChildProcess.run(
      program, ["null-read", "--database", database], in: directory.path,
      environment: ["SWIFT_BACKTRACE": "enable=no"])
    #expect(crash.end.signal == SIGSEGV)
    try FileManager.default.createDirectory(atPath: symbols, withIntermediateDirectories: true)
    try FileManager.default.moveItem(atPath: program, toPath: symbols + "/service")
  }

  private func run(_ words: String...) async throws -> String { try await run(words) }

  private func run(_ words: [String]) async throws -> String {
    let child = try await ChildProcess.run(
      tool, words, in: directory.path, environment: ["POSTMORTEM_NO_SYMBOL_CACHE": "1"])
    #expect(child.end.exitCode == 0, "\(child)")
    return child.standardOutput
  }

  private static let conversions = [
    ["process", "DATABASE"], ["watch", "DATABASE", "--count", "1"],
    ["run", "--database", "DATABASE", "--", "/bin/true"],
  ]

  @Test(arguments: conversions, [true, false])
  func aConversionFindsNames(_ command: [String], _ hasSymbols: Bool) async throws {
    try await crash()
    var words = command.map { $0 == "DATABASE" ? database : $0 }
    if hasSymbols { words.insert(contentsOf: ["--symbols", symbols], at: 1) }
    _ = try await run(words)
    let listed = try await run("list", database, "--json")
    #expect(listed.contains("MemoryKinds.swift") == hasSymbols, "\(listed)")
  }

  @Test func anUploadFindsNames() async throws {
    try await crash()
    _ = try await run("process", database)
    let id = try #require(try await run("list", database).split(separator: " ").first)
    let without = [
      "upload", database, String(id), "--dsn", "http://key@127.0.0.1/1", "--dry-run", "--json",
    ]
    for words in [without, without + ["--symbols", symbols]] {
      let child = try await ChildProcess.run(
        tool, words, in: directory.path, environment: ["POSTMORTEM_NO_SYMBOL_CACHE": "1"])
      #expect(child.end.exitCode == 0, "\(child.standardError)")
      #expect(child.standardOutput.contains("MemoryKinds.swift") == (words.count > without.count))
    }
  }
}
