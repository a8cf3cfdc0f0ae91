import CrashTestSupport
import Foundation
import Testing

/// The core and the outer ring, which depends on it: Package.swift, Docs/Design.md, the folders and the proofs
/// agree.
@Suite struct RingTests {
  /// The modules of each ring in the order of Package.swift, according to its MARK comments.
  private static func rings() throws -> (core: [String], outer: [String]) {
    let parts = try House.text("Package.swift").components(separatedBy: "// MARK: - ")
    func modules(_ mark: String) -> [String] {
      let part = parts.first { $0.hasPrefix(mark + "\n") } ?? ""
      return part.matches(of: #/(?m)^    \.(?:executableT|t)arget\(\s*name: "(\w+)"/#).map {
        String($0.1)
      }
    }
    return (modules("The core"), modules("The outer ring"))
  }

  @Test func eachModuleOfSourcesIsInOneRingBelowThoseThatImportItAndNoArrowLeadsOutwards()
    async throws
  {
    let manifest = try await PackageManifest.ofPackage()
    let (core, outer) = try Self.rings()
    let sources = manifest.targets.filter(\.isSource).map(\.name)
    #expect(core + outer == sources)
    for (place, module) in sources.enumerated() {
      let above = manifest.dependencies(of: module).map(\.name)
        .filter { !sources[..<place].contains($0) }
      #expect(above == [], "\(module)")
    }
    for module in core {
      #expect(manifest.reachable(from: module).isDisjoint(with: outer), "\(module)")
    }
  }

  @Test func docsDesignMdHasTheModulesOfEachRing() throws {
    let parts = try House.text("Docs/Design.md").components(separatedBy: "\n### ")
    func modules(_ heading: String) -> Set<String> {
      let part = parts.first { $0.hasPrefix(heading + "\n") } ?? ""
      return Set(part.matches(of: #/(?m)^\| `(\w+)` \|/#).map { String($0.1) })
    }
    let (core, outer) = try Self.rings()
    #expect(modules("The core") == Set(core))
    #expect(modules("The outer ring") == Set(outer))
  }

  /// The folders of the outer ring in modules that also have other folders, each before those that it may use.
  private static let folders = [
    // Walking and symbolication do not use Breakpad's text.
    FolderOrder("Sources/Stackwalk", ["Breakpad", "others"]) {
      $0.hasPrefix("Breakpad/") ? "Breakpad" : "others"
    },
    // Queue and forms get the server as a value, which the public functions, outside the folders, pass in.
    FolderOrder(
      "Sources/CrashReportUpload", ["Sentry", "", "Queue", "Body", "Libraries", "Interface"]
    ) {
      $0.contains("/") ? String($0.prefix { $0 != "/" }) : ""
    },
  ]

  @Test(arguments: [0, 1])
  func nothingElseUsesAFolderOfTheOuterRing(_ place: Int) throws {
    let folders = Self.folders[place]
    let sources = try folders.sources()
    #expect(Set(sources.keys.map(folders.folder)) == Set(folders.order))
    let references = SwiftReferences(sources)
    // Finding no uses at all would pass, too.
    #expect(references.uses.count > 50)
    #expect(folders.violations(references) == [])
  }

  /// The folders of the outer ring in the module of the command.
  private static let outerOfTool = ["Completion/", "DebugFiles/", "Export/", "Overview/"]

  /// The uses of these folders outside the commands.
  private static func usesInTool(_ references: SwiftReferences) -> [String] {
    references.uses.filter { use in
      outerOfTool.contains(where: use.other.hasPrefix)
        && !(outerOfTool + ["Commands/", "PostmortemTool.swift"]).contains(
          where: use.file.hasPrefix)
    }.map { "\($0.file) uses \($0.name) of \($0.other)" }.sorted()
  }

  private static let tool = FolderOrder("Sources/PostmortemTool", []) { $0 }

  @Test func commandsAloneUseTheOuterRingOfTheTool() throws {
    let references = SwiftReferences(try Self.tool.sources())
    for folder in Self.outerOfTool {
      #expect(references.uses.contains { $0.other.hasPrefix(folder) }, "\(folder)")
    }
    #expect(Self.usesInTool(references) == [])
  }

  @Test(arguments: [
    ("Sources/Stackwalk", "Unwinding/FDEIndex.swift", "BreakpadSymbols"),
    ("Sources/CrashReportUpload", "Queue/UploadEngine.swift", "SentryDSN"),
    ("Sources/CrashReportUpload", "Body/UploadContent.swift", "SampledUploads"),
    ("Sources/PostmortemTool", "Listing/ReportReader.swift", "CrashOverview"),
    ("Sources/PostmortemTool", "Listing/ReportReader.swift", "DebugFileServers"),
    ("Sources/PostmortemTool", "Arguments/Arguments.swift", "CompletionCommand"),
  ])
  func anArrowThatIsTurnedAroundIsFoundInTheRealFiles(
    _ directory: String, _ path: String, _ type: String
  ) throws {
    let folders = Self.folders.first { $0.directory == directory }
    var sources = try (folders ?? Self.tool).sources()
    let text = try #require(sources[path])
    sources[path] = text + "\nlet planted: \(type)? = nil\n"
    let references = SwiftReferences(sources)
    let found = folders?.violations(references) ?? Self.usesInTool(references)
    #expect(found.count == 1 && found[0].hasPrefix("\(path) uses \(type) "), "\(found)")
  }

  @Test func aProofIsOfTheOuterRingWhereAllModulesAndFoldersThatItCoversAre() throws {
    let outer = try Self.rings().outer
    var count = 0
    for text in try House.text("Tests/Proofs/Proof.swift").components(separatedBy: "\n    Proof(")
      .dropFirst()
    {
      let name = try #require(text.firstMatch(of: /name: "([a-z0-9-]+)"/)?.1)
      let covers = try #require(text.firstMatch(of: /covers: \[([^\]]*)\]/)?.1)
      let sources = covers.matches(of: /"Sources\/([^"]+)"/).map { String($0.1) }
      let isOuter =
        !sources.isEmpty
        && sources.allSatisfy { path in
          outer.contains(String(path.prefix { $0 != "/" })) || path.hasPrefix("Stackwalk/Breakpad")
        }
      // The proof of another product's handlers covers the core.
      #expect(text.contains("ring: .outer") == (isOuter || name == "java"), "\(name)")
      count += isOuter ? 1 : 0
    }
    #expect(count >= 4)
  }

  @Test func theFoldersThatAChangeInIsNothingToOthersAreThoseThatNothingElseUses() throws {
    let text = try House.text("Tests/Proofs/ProofSelection.swift")
    let list = try #require(text.firstMatch(of: /let tops = \[([^\]]*)\]/)?.1)
    let tops = list.matches(of: /"Sources\/([^"]+)\/"/).map { String($0.1) }
    #expect(
      Set(tops) == [
        "CrashReportUpload/Sentry", "PostmortemTool/Completion", "PostmortemTool/DebugFiles",
        "PostmortemTool/Export", "PostmortemTool/Overview", "Stackwalk/Breakpad",
      ])
    // Outside the outer ring, only the command is linked with them.
    let others = try House.swiftFiles(in: "Sources").filter { file in
      !tops.contains { file.path.hasPrefix("Sources/\($0)/") } && file.module != "PostmortemTool"
    }
    for type in ["BreakpadSymbols", "SentryDSN", "SentryServer", "CrashOverview"] {
      #expect(others.filter { $0.text.contains(type) }.map(\.path) == [], "\(type)")
    }
  }
}
