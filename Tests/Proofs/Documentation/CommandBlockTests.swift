import CrashTestSupport
import Foundation
import Testing

/// The commands in the guide's blocks run against a database that contains two reports.
///
/// The commands of `Journeys.md` are run by the proof `journeys`, which also checks their output.
@Suite struct CommandBlockTests {
  /// A block without a language; the lines after one that begins with `$` are output.
  struct Block: Sendable, CustomTestStringConvertible {
    let document: String
    let line: Int
    let commands: [String]

    var testDescription: String { "\(document):\(line)" }
  }

  static let all: [Block] = CodeBlock.documents.filter { $0.hasPrefix("Docs/Guide/") }.flatMap {
    document in
    let path = BuiltProducts.packageRoot + "/" + document
    return blocks(of: (try? String(contentsOfFile: path, encoding: .utf8)) ?? "", in: document)
  }

  /// The blocks that contain a command of the package.
  static func blocks(of text: String, in document: String) -> [Block] {
    var blocks: [Block] = []
    var fence: String?
    var lines: [String] = []
    for (index, line) in text.components(separatedBy: "\n").enumerated() {
      if line.hasPrefix("```") {
        if fence == "```" {
          let marked = lines.filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
          let commands = marked.isEmpty ? lines : marked
          if commands.contains(where: isOwn) {
            blocks.append(
              Block(document: document, line: index + 1 - lines.count, commands: commands))
          }
        }
        fence = fence == nil ? line : nil
        lines = []
      } else if fence != nil {
        lines.append(line)
      }
    }
    return blocks
  }

  static func isOwn(_ line: String) -> Bool {
    line.contains(#/^(\S+=\S+ |docker logs .*\| )?postmortem /#)
  }

  @Test func theGuideHasItsCommands() {
    #expect(Self.all.count >= 7)
    #expect(Self.all.flatMap(\.commands).count >= 18)
  }

  @Test(arguments: all)
  func eachBlockSucceeds(block: Block) async throws {
    let directory = try SharedDirectory()
    let products = URL(fileURLWithPath: try BuiltProducts.besideTests("crash-lab"))
      .deletingLastPathComponent().path
    for name in ["web", "server"] {
      try Spawn.copyProgram(products + "/crash-lab", to: directory.path + "/" + name)
    }
    let toolchain = URL(filePath: try Toolchain.path(of: "swiftc")).deletingLastPathComponent().path
    var script = """
      ./web null-read --database db 2>log
      ./web abort --database db 2>>log & process=$!
      wait
      \(block.commands.contains { $0.hasPrefix("postmortem process") } ? ":" : "postmortem process >/dev/null")
      report=$(postmortem list -q | tail -n 1)
      postmortem symbols web -o symbols >/dev/null

      """
    for (number, command) in block.commands.enumerated() {
      script += "\(Self.adapted(command))\n[ $? = 0 ] || echo FAILED \(number) >&3\n"
    }
    let child = try await ChildProcess.run(
      "/bin/sh", ["-c", "exec 3>&1 >output 2>&1 </dev/null\n" + script], in: directory.path,
      environment: [
        "PATH": "\(products):\(toolchain):/usr/bin:/bin", "HOME": directory.path,
        "POSTMORTEM_DATABASE": directory.path + "/db", "SWIFT_BACKTRACE": "enable=no",
        // LLDB would wait for commands.
        "POSTMORTEM_LLDB": "/bin/true",
      ], patience: 300)
    let output = try? String(contentsOfFile: directory.path + "/output", encoding: .utf8)
    #expect(child.standardOutput.isEmpty, "\(child.standardOutput)\(script)\(output ?? "")")
  }

  /// Replaces the guide's names in a command with the names of this test.
  private static func adapted(_ command: String) -> String {
    let names = [
      ("/var/lib/shop/crashes", "$PWD/db"), ("/data/crashes", "$PWD/db"),
      ("/symbols", "$PWD/symbols"),
      ("--user app -- gosu app ", "--user $(id -un) -- "), ("./server --port 8080", "true"),
      (".build/release/Server", "server"), ("docker logs web 2>&1", "cat log"),
      ("https://debuginfod.example", "http://127.0.0.1:9"), ("4f1a", "$report"),
      ("4711", "$process"),
    ]
    return names.reduce(command) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }
}
