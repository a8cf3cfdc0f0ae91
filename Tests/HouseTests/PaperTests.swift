import Foundation
import Testing

@Suite struct PaperTests {
  @Test func theREADMEsCodeIsTheExampleMinimalCLI() throws {
    let readme = try House.text("README.md")
    let parts = readme.components(separatedBy: "```swift\n")
    let program = parts.dropFirst().first { $0.hasPrefix("import Postmortem") }
    let code = try #require(program?.components(separatedBy: "```").first)
    #expect(try House.text("Examples/MinimalCLI/main.swift") == code)
    #expect(code.split(separator: "\n").count <= 12)
  }

  /// Between releases, the tool says the version of the next release, marked `-dev`.
  @Test func theToolSaysTheNewestReleaseOfCHANGELOGOrOneThatIsNotReleased() throws {
    let tool = try House.text("Sources/CrashReport/PackageVersion.swift")
    let said = try #require(
      tool.firstMatch(of: /static let version = "(\d+\.\d+\.\d+)(-dev)?"/))
    let changes = try House.text("CHANGELOG.md")
    let released = changes.matches(of: /(?m)^## \[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$/)
      .map(\.1)
    #expect(said.2 == nil ? released.first == said.1 : !released.contains(said.1))
    #expect(changes.contains("## [Unreleased]"))
  }

  @Test func theManifestHasNoUnsafeFlags() throws {
    #expect(!(try House.text("Package.swift").contains("unsafeFlags")))
  }

  /// The files in `Codes` have several small types each, and are named after their subject.
  @Test func aFileWithPublicTypesIsNamedAfterOneOfThem() throws {
    for file in try House.swiftFiles(in: "Sources") where !file.path.contains("/Codes/") {
      let types = publicTypes(in: file.text)
      guard !types.isEmpty else { continue }
      #expect(types.contains(file.baseName), "\(file.path) holds \(types)")
    }
  }

  @Test func optionsMdHasEveryOptionAndEveryVariableOfTheEnvironment() throws {
    let document = try House.text("Docs/Reference/Options.md")
    let files = [
      "Sources/CrashHandler/Interface/HandlerOptions.swift",
      "Sources/CrashHandler/Interface/CaptureLimits.swift",
      "Sources/CrashReportUpload/Interface/UploadOptions.swift",
      "Sources/HangDetection/Interface/HangMonitor+Options.swift",
    ]
    var options: Set<String> = []
    for file in files {
      let text = try House.text(file)
      // The options of sampling are a single row of UploadOptions.
      let end = text.range(of: "public struct UploadSampling")?.lowerBound ?? text.endIndex
      options.formUnion(text[..<end].matches(of: /public var (\w+)/).map { String($0.1) })
    }
    #expect(options.count > 30)
    for option in options.sorted() {
      let isThere = document.contains("`\(option)`")
      #expect(isThere, "\(option)")
    }
    let sources = try House.swiftFiles(in: "Sources").map(\.text).joined()
    for match in sources.matches(of: /"((?:POSTMORTEM|DEBUGINFOD|XDG)_[A-Z_]+)=?"/) {
      let isThere = document.contains("`\(match.1)")
      #expect(isThere, "\(match.1)")
    }
  }

  @Test func linksBetweenThePapersLeadSomewhere() throws {
    let papers =
      ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
      + (try FileManager.default.subpathsOfDirectory(atPath: House.root + "/Docs"))
      .filter { $0.hasSuffix(".md") }.map { "Docs/" + $0 }
    for paper in papers {
      let directory = URL(fileURLWithPath: House.root + "/" + paper).deletingLastPathComponent()
      for match in try House.text(paper).matches(of: /\]\(([^)#\s]*)(?:#([^)]*))?\)/) {
        let target = String(match.1)
        if target.hasPrefix("https://") { continue }
        let path =
          target.isEmpty
          ? House.root + "/" + paper : directory.appendingPathComponent(target).path
        #expect(FileManager.default.fileExists(atPath: path), "\(paper) links to \(target)")
        guard let anchor = match.2, target.isEmpty || target.hasSuffix(".md") else { continue }
        let isThere = try anchors(of: String(contentsOfFile: path, encoding: .utf8))
          .contains(String(anchor))
        #expect(isThere, "\(paper) links to \(target)#\(anchor)")
      }
    }
  }

  /// The anchors that GitHub generates for headings.
  private func anchors(of text: String) -> Set<String> {
    Set(
      text.matches(of: /(?m)^#{1,6} (.+)$/).map { match in
        String(match.1).lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
          .replacing(" ", with: "-")
      })
  }

  /// The names of public types that are not nested in another declaration.
  private func publicTypes(in text: String) -> [String] {
    let kinds: Set<String> = ["struct", "class", "enum", "actor", "protocol"]
    var types: [String] = []
    var depth = 0
    let tokens = SwiftTokens(text).tokens
    for (index, token) in tokens.enumerated() {
      if token.text == "{" { depth += 1 }
      if token.text == "}" { depth -= 1 }
      guard depth == 0, kinds.contains(token.text), index + 1 < tokens.count else { continue }
      let before = tokens[max(0, index - 2)..<index].map(\.text)
      if before.contains("public") { types.append(tokens[index + 1].text) }
    }
    return types
  }
}
