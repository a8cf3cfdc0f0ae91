import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// The words that the completion of a shell offers.
@Suite struct CompletionTests {
  private let directory: SharedDirectory

  init() throws {
    directory = try SharedDirectory()
  }

  private func complete(_ words: String..., database: String? = nil) async throws -> [String] {
    let child = try await ChildProcess.run(
      try BuiltProducts.besideTests("postmortem"), ["__complete"] + words, in: directory.path,
      environment: ["POSTMORTEM_DATABASE": database ?? ""])
    #expect(child.end.exitCode == 0 && child.standardError == "", "\(child)")
    return child.standardOutput.split(separator: "\n").map {
      String($0.split(separator: "\t", omittingEmptySubsequences: false)[0])
    }
  }

  @Test func everySubcommandAndOption() async throws {
    let names = try await complete("")
    for command in PostmortemTool.subcommands {
      #expect(names.contains(command.name))
      let options = try await complete(command.name, "-")
      for option in command.options + CommandOption.shared {
        #expect(option.names.allSatisfy(options.contains), "\(command.name) \(option.names)")
        #expect(!option.text.isEmpty && option.names.allSatisfy { $0.hasPrefix("-") })
      }
    }
    #expect(try await complete("li") == ["list", ":none"])
    #expect(try await complete("list", "--js") == ["--json", ":none"])
    #expect(try await complete("list", "--color", "a") == ["always", "auto", ":none"])
    #expect(try await complete("list", "--color=a") == ["--color=always", "--color=auto", ":none"])
    // Bash splits the option at the equals sign.
    #expect(try await complete("list", "--color", "=", "a") == ["always", "auto", ":none"])
    #expect(try await complete("list", "-d", "") == [":directories"])
    #expect(try await complete("-d", "") == [":directories"])
    #expect(try await complete("show", "./") == [":files"])
    #expect(try await complete("help", "sta") == ["stats", ":none"])
    #expect(try await complete("nonsense", "") == [":none"])
    #expect(try await complete("show", "") == [":none"])
  }

  @Test func idsOfTheDatabaseThatIsNamed() async throws {
    let database = directory.path + "/db"
    for _ in 0..<2 {
      _ = try await ChildProcess.run(
        try BuiltProducts.besideTests("HandlerOnlyVictim"), [database, "abort"], in: directory.path,
        environment: ["SWIFT_BACKTRACE": "enable=no"])
    }
    let tool = try BuiltProducts.besideTests("postmortem")
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let list = try await ChildProcess.run(tool, ["list", "-qr", database], in: directory.path)
    let ids = list.standardOutput.split(separator: "\n").map { String($0.prefix(8)) }
    try #require(ids.count == 2)
    #expect(try await complete("show", "", database: database) == ids + [":none"])
    #expect(try await complete("delete", "-d", database, "") == ids + [":none"])
    #expect(try await complete("-d", "db", "show", "") == ids + [":none"])
    #expect(try await complete("show", "./db", "") == ids + [":none"])
    #expect(try await complete("show", ids[0], database: database) == [ids[0], ":none"])
    let programs = try await complete("list", "--program", "", database: database)
    #expect(programs == ["handler only", ":none"])
    // Bash accepts the words in the form in which the script passes them.
    let script = """
      PATH=\(tool.parentPath):$PATH; source <(postmortem completion bash)
      complete_words() {
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _postmortem 2>/dev/null; echo "${COMPREPLY[@]}"
      }
      complete_words postmortem show --js; complete_words postmortem sh
      complete_words postmortem -d db show ""; complete_words postmortem list -d d
      complete_words postmortem list --color =; complete_words postmortem list --color = al
      """
    let bash = try await ChildProcess.run("/bin/bash", ["-c", script], in: directory.path)
    #expect(
      bash.standardOutput.split(separator: "\n") == [
        "--json", "show", "\(ids[0]) \(ids[1])", "db", "always never auto", "always",
      ], "\(bash)")
  }
}
