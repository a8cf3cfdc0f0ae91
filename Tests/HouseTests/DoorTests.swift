import CrashTestSupport
import Foundation
import Testing

/// `swift test` and `swift run proofs` each run only the tests that belong to them.
@Suite struct DoorTests {
  /// Features that a test of `swift test` must not use: separate builds, debuggers, ptrace, root, waits of
  /// seconds.
  private static let refused = [
    ".needs(.gdb)", ".needs(.lldb)", ".needs(.strace)", "GDB.", "LLDB.", "Sanitizer",
    "BuildConfiguration.allCases", "BuildConfiguration.dynamic", ".staticDebug", ".staticRelease",
    "\", .release)", "geteuid()", "Racer.namespace", "/unshare\"", "FaultInjector",
    "sleep(for: .seconds", "\"swift\", \"build\"",
  ]

  private static func violations(in text: String) -> [String] {
    refused.filter { text.contains($0) }
  }

  @Test func swiftTestBuildsNothingAndNeedsNoDebuggerNoPtraceAndNoRoot() throws {
    #expect(Door.current == .everyday)
    let directories = try FileManager.default.contentsOfDirectory(atPath: House.root + "/Tests")
      .filter { $0.hasSuffix("Tests") && $0 != "HouseTests" }
    #expect(directories.contains("EndToEndTests"))
    for directory in directories {
      for file in try House.swiftFiles(in: "Tests/" + directory) {
        #expect(Self.violations(in: file.text) == [], "\(file.path) belongs into Tests/Proofs")
      }
    }
  }

  @Test func theWidthWasSetBeforeAnyTestBegan() {
    let width = ProcessInfo.processInfo.environment[TestWidth.variable].flatMap(Int.init) ?? 0
    #expect(width > 0)
  }

  @Test func theCheckerFindsWhatIsPlanted() {
    let source = #"try await products.executable("crash-lab", .release)"#
    #expect(Self.violations(in: source) == ["\", .release)"])
    #expect(Self.violations(in: "@Test(.needs(.gdb)) func f() {}") == [".needs(.gdb)"])
    #expect(Self.violations(in: #"executable("crash-lab", .asTested)"#) == [])
  }

  @Test func aBuildOrADebuggerIsRefusedAtRunTimeToo() async throws {
    for configuration in BuildConfiguration.allCases where configuration != .asTested {
      await #expect(throws: NeedsProofs.self) {
        try await BuiltProducts.shared.executable("crash-lab", configuration)
      }
    }
    let directory = try TemporaryDirectory()
    let path = directory.path
    await #expect(throws: NeedsProofs.self) { try await LLDB.view(dump: "", directory: path) }
    await #expect(throws: NeedsProofs.self) {
      try await GDB.view(core: "", of: "", directory: path)
    }
  }

  /// The suites in the table of proofs.
  private static func listed() throws -> [String] {
    let table = try House.text("Tests/Proofs/Proof.swift")
    return table.matches(of: /suites: \[([^\]]*)\]/).flatMap { list in
      list.1.matches(of: /"(\w+)"/).map { String($0.1) }
    }
  }

  @Test func everySuiteOfTestsProofsIsInOneProof() throws {
    var suites: [String] = []
    for file in try House.swiftFiles(in: "Tests/Proofs") where file.text.contains("@Test") {
      suites += file.text.matches(of: /(?:struct|class|enum|actor) (\w+Tests)\b/).map {
        String($0.1)
      }
    }
    #expect(suites.count > 30)
    #expect(try Self.listed().sorted() == suites.sorted())
  }

  @Test func proofsCoverWhatExistsAndEveryModule() throws {
    let table = try House.text("Tests/Proofs/Proof.swift")
    let covered = table.matches(of: /covers: \[([^\]]*)\]/).flatMap { list in
      list.1.matches(of: /"([^"]+)"/).map { String($0.1) }
    }
    #expect(covered.count > 50)
    for path in Set(covered) {
      #expect(FileManager.default.fileExists(atPath: House.root + "/" + path), "\(path)")
    }
    for module in try FileManager.default.contentsOfDirectory(atPath: House.root + "/Sources") {
      let isCovered = covered.contains { $0.split(separator: "/").dropFirst().first == module[...] }
      #expect(isCovered, "\(module)")
    }
  }

  @Test func theProofsAndSuitesThatThePapersNameAreThere() throws {
    let proofs = try House.text("Tests/Proofs/Proof.swift")
      .matches(of: /name: "([a-z0-9-]+)"/).map { String($0.1) }
    let suites = try House.swiftFiles(in: "Tests").map(\.text).joined()
    let targets = try FileManager.default.contentsOfDirectory(atPath: House.root + "/Tests")
    let papers =
      ["README.md", "CONTRIBUTING.md"]
      + (try FileManager.default.subpathsOfDirectory(atPath: House.root + "/Docs"))
      .filter { $0.hasSuffix(".md") }.map { "Docs/" + $0 }
    for paper in papers {
      let text = try House.text(paper)
      for match in text.matches(of: /swift run proofs ([a-z][a-z0-9-]*)/) {
        let name = String(match.1)
        #expect(
          proofs.contains(name)
            || ["list", "all", "for", "fuzz", "make-reports", "foreign-dumps"].contains(name),
          "\(paper): \(name)")
      }
      for match in text.matches(of: /--filter (\w+)/) {
        // The filter names a suite, or all suites of a target.
        let isThere = suites.contains(" \(match.1)") || targets.contains(String(match.1))
        #expect(isThere, "\(paper): \(match.1)")
      }
      let isOld = text.contains("swift run catalogue")
      #expect(!isOld, "\(paper)")
    }
    let readme = try House.text("README.md")
    for command in ["\nswift run postmortem demo\n", "\nswift test\n"] {
      let isThere = readme.contains(command)
      #expect(isThere, "\(command)")
    }
  }
}
