import CrashTestSupport
import Foundation
import Testing

/// The published documentation of all modules in `.spi.yml`, built and merged by the toolchain's docc.
@Suite struct DocumentationTests {
  @Test func doccHasNoWarning() async throws {
    let archive = try await DocumentationArchive.built.value
    #expect(archive.warnings == [])
    // An empty archive has no warnings either.
    #expect(archive.symbols.count > 300)
  }

  @Test func everyPublicSymbolHasAPage() async throws {
    let archive = try await DocumentationArchive.built.value
    let declared = try Self.declared()
    #expect(declared.count > 250)
    #expect(declared.subtracting(archive.symbols).sorted() == [])
  }

  @Test(arguments: [
    "CrashHandler startHandler", "Postmortem processIntermediateDumps",
    "Postmortem Handler.processIntermediateDumps", "CrashHandler Annotation",
    "HangDetection HangMonitor", "CrashReportUpload ReportUploader",
    "CrashReportDatabase CrashReportDatabase", "CrashConverter ProcessedDump",
  ])
  func theSymbolsThatAReaderLooksForFirstHaveAPage(name: String) async throws {
    #expect(try await DocumentationArchive.built.value.symbols.contains(name))
  }

  @Test func theLandingPagesLeadToEveryNameThatAnImportBrings() async throws {
    let archive = try await DocumentationArchive.built.value
    let names = try Self.lines().compactMap { line in
      line.wholeMatch(of: /(\w+) exports (\w+)\.(\w+)/)
    }
    #expect(names.count > 40)
    for match in names {
      // `Postmortem` re-exports the names of the handler's product.
      let product = match.1 == "PostmortemHandler" ? "Postmortem" : String(match.1)
      let isThere = archive.landings[product]?.contains("\(match.2) \(match.3)") == true
      #expect(isThere, "\(product) does not lead to \(match.2).\(match.3)")
    }
  }

  @Test func eachPageOfTheGuideIsInTheArchive() async throws {
    let directory = BuiltProducts.packageRoot + "/Docs/Guide"
    let titles = try FileManager.default.contentsOfDirectory(atPath: directory)
      .map { name in
        let text = try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
        return String(text.prefix { $0 != "\n" }.dropFirst(2))
      }
    #expect(titles.count >= 10)
    let archive = try await DocumentationArchive.built.value
    #expect(Set(titles).subtracting(archive.articles) == [])
  }

  /// The names in `PublicInterface.txt`, in the form of the archive.
  ///
  /// A conformance has no page.
  private static func declared() throws -> Set<String> {
    let declaration =
      /(\w+) (?:([A-Z][\w.]*) )?.*?\b(?:(init)|(?:struct|enum|class|protocol|typealias|func|var|let|case) ?(\w+|<)).*/
    return Set(
      try lines().filter { !$0.contains(" exports ") && !$0.contains(" extension ") }.map { line in
        let match = try #require(line.wholeMatch(of: declaration), "\(line)")
        let name = String(match.3 ?? match.4 ?? "")
        return "\(match.1) " + (match.2.map { "\($0)." } ?? "") + name
      })
  }

  private static func lines() throws -> [String] {
    try String(
      contentsOfFile: BuiltProducts.packageRoot + "/Tests/HouseTests/PublicInterface.txt",
      encoding: .utf8
    ).split(separator: "\n").map(String.init)
  }
}
