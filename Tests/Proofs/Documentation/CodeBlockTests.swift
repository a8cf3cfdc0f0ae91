import CrashTestSupport
import Foundation
import Testing

/// Every block of Swift in the README and the documents compiles.
@Suite struct CodeBlockTests {
  @Test(arguments: CodeBlock.all)
  func eachCompiles(block: CodeBlock) async throws {
    let (status, output) = try await Self.check(block)
    #expect(status == 0, "\(output)")
    #expect(!output.contains("error:"), "\(output)")
  }

  @Test func eachDocumentThatHasBlocksIsReadAndNoneOfThemIsPassedOver() throws {
    for document in CodeBlock.documents {
      let text = try String(
        contentsOfFile: BuiltProducts.packageRoot + "/" + document, encoding: .utf8)
      let count = text.components(separatedBy: "\n").count { $0.contains("```swift") }
      #expect(CodeBlock.all.count { $0.document == document } == count, "\(document)")
    }
    #expect(CodeBlock.documents.contains("Docs/Guide/Uploading.md"))
    #expect(CodeBlock.all.count > 50)
    #expect(CodeBlock.all.count(where: \.isManifest) >= 2)
  }

  @Test(arguments: [
    "try startHandler(data: \"/tmp\")", "let handler = Handler.now",
    ".package(uri: \"https://example.com/a.git\", from: \"1.0.0\")",
  ])
  func theCheckRefusesWhatIsPlanted(code: String) async throws {
    let block = CodeBlock(document: "planted", line: 1, preamble: "", code: code)
    #expect(try await Self.check(block).status != 0)
  }

  /// Checks types only, against the modules of this build; this takes a second or two.
  private static func check(_ block: CodeBlock) async throws -> (status: Int32?, output: String) {
    let directory = try TemporaryDirectory()
    let file = directory.path + "/main.swift"
    try block.source.write(toFile: file, atomically: true, encoding: .utf8)
    let options: [String]
    if block.isManifest {
      let toolchain = URL(filePath: try Toolchain.path(of: "swiftc"))
        .deletingLastPathComponent().deletingLastPathComponent().path
      options = [
        "-I", toolchain + "/lib/swift/pm/ManifestAPI", "-package-description-version", "6.3.0",
      ]
    } else {
      options = try ["-enable-bare-slash-regex"] + BuiltModules.searchOptions()
    }
    let child = try await ChildProcess.run(
      try Toolchain.path(of: "swiftc"),
      ["-typecheck", "-swift-version", "6", file] + options,
      in: directory.path, patience: 120)
    return (child.end.exitCode, child.standardError)
  }
}
