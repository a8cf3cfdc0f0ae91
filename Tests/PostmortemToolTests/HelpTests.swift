import CrashTestSupport
import Foundation
import Testing

@testable import PostmortemTool

/// Help, manual pages and the document of the command line come from one table of options.
@Suite struct HelpTests {
  /// Each line fits on a terminal of 80 columns.
  @Test func helpIsNoWiderThanATerminal() {
    for (name, help) in PostmortemTool.subcommands.map({ ($0.name, $0.help) })
      + [("postmortem", PostmortemTool.help)]
    {
      for line in help.split(separator: "\n") {
        #expect(line.count <= HelpText.width, "\(name): \(line)")
      }
      #expect(
        help.hasSuffix("\n") && !help.hasSuffix("\n\n") && !help.contains("\n\n\n"), "\(name)")
    }
  }

  @Test func everyOptionStandsInTheHelpOnce() {
    for command in PostmortemTool.subcommands {
      let names = (command.options + CommandOption.shared).flatMap(\.names)
      #expect(Set(names).count == names.count, "\(command.name)")
      for option in command.options {
        #expect(command.help.contains("\n  \(option.term)"), "\(command.name) \(option.term)")
      }
      // The usage names only options that exist.
      for match in command.usage.joined(separator: " ").matches(of: /--?[a-z][a-z-]*/) {
        #expect(names.contains(String(match.0)), "\(command.name) \(match.0)")
      }
    }
  }

  @Test func namesAndAliasesAreDistinct() {
    let names = PostmortemTool.subcommands.flatMap { [$0.name] + $0.aliases }
    #expect(Set(names).count == names.count)
    #expect(names.contains("ls") && names.contains("rm") && names.contains("info"))
  }

  @Test func manualPagesHaveWhatHelpHas() async throws {
    let tool = try BuiltProducts.besideTests("postmortem")
    let directory = try SharedDirectory()
    for command in PostmortemTool.subcommands {
      let child = try await ChildProcess.run(tool, ["manual", command.name], in: directory.path)
      let page = child.standardOutput
      #expect(page.hasPrefix(".TH POSTMORTEM-\(command.name.uppercased()) 1 "))
      for option in command.options {
        let term = option.term.replacing("-", with: "\\-")
        #expect(page.contains("\n.TP\n.B \(term)\n"), "\(term)")
      }
    }
    let overview = try await ChildProcess.run(tool, ["manual"], in: directory.path)
    #expect(overview.standardOutput.contains(".SH SYNOPSIS\n.nf\npostmortem ["))
    for command in PostmortemTool.subcommands {
      #expect(overview.standardOutput.contains("\n  \(command.name) "))
    }
  }

  /// `UPDATE_DOCUMENTS=1 swift test --filter HelpTests` writes the page.
  @Test func thePageOfTheCommandLineHasTheHelp() throws {
    let path = BuiltProducts.packageRoot + "/Docs/Reference/CommandLine.md"
    var page = try String(contentsOfFile: path, encoding: .utf8)
    let start = try #require(page.range(of: "<!-- commands -->\n")).upperBound
    let end = try #require(page.range(of: "<!-- end -->", range: start..<page.endIndex)).lowerBound
    let texts = PostmortemTool.subcommands.map { "### \($0.name)\n\n```\n\($0.help)```\n\n" }
    if ProcessInfo.processInfo.environment["UPDATE_DOCUMENTS"] != nil {
      page.replaceSubrange(start..<end, with: texts.joined())
      try page.write(toFile: path, atomically: true, encoding: .utf8)
    } else {
      #expect(page[start..<end] == texts.joined())
    }
  }
}
