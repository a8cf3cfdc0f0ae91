import CrashTestSupport
import Foundation
import Testing

@Suite struct LayerTests {
  @Test func whatIsImportedIsDeclaredInPackageSwiftAndWhatIsDeclaredIsImported() async throws {
    let layers = try await PackageManifest.ofPackage()
    #expect(layers.targets.contains { $0.name == "IntermediateDump" && $0.isSource })
    for target in layers.targets {
      let files = try House.swiftFiles(in: target.directory).filter { file in
        !layers.targets.contains { inner in
          inner.directory.hasPrefix(target.directory + "/")
            && file.path.hasPrefix(inner.directory + "/")
        }
      }
      var used = try PackageManifest.includes(in: target)
      for file in files {
        used.formUnion(PackageManifest.imports(in: file.text))
        if target.isSource {
          #expect(layers.violations(in: file.text, of: target.name) == [], "\(file.path)")
        }
      }
      let declared = Set(target.dependencies.map(\.name))
      let others = Set(layers.targets.map(\.name)).subtracting([target.name])
      #expect(used.intersection(others).subtracting(declared) == [], "\(target.name) declares none")
      // A program that a test runs, and a module that is linked for its symbols, are declared and not imported.
      if target.isSource {
        let needed = Set(target.dependencies.filter { !$0.isConditional }.map(\.name))
        #expect(needed.subtracting(used) == [], "\(target.name) has no use for them")
      }
    }
  }

  @Test func oneTraitWithTwoSwiftPMBefore6_4BuildsAllAgainEverySecondTime() async throws {
    #expect(
      try await PackageManifest.ofPackage().traits.map(\.name).filter { $0 != "default" }.count == 1
    )
  }

  @Test func theCheckerFindsWhatIsPlanted() async throws {
    let layers = try await PackageManifest.ofPackage()
    let source =
      "internal import Glibc\nimport Foundation\npublic import struct CrashHandler.Handler"
    #expect(
      layers.violations(in: source, of: "CrashConverter") == ["Foundation", "CrashHandler"])
    #expect(layers.violations(in: source, of: "Postmortem") == ["Foundation"])
    #expect(layers.violations(in: "// import Foundation", of: "Minidump") == [])
    // The module is reachable through another one, but not declared.
    #expect(layers.violations(in: "import CSignalSafe", of: "Minidump") == ["CSignalSafe"])
  }

  @Test func theHandlerReachesNeitherTheConverterNorFoundation() async throws {
    let layers = try await PackageManifest.ofPackage()
    #expect(
      layers.reachable(from: "CrashHandler")
        == ["PendingDumps", "SwiftRuntime", "IntermediateDump", "CSignalSafe"])
    for module in ["CrashHandler", "HangDetection", "PostmortemHandler"] {
      let reached = layers.reachable(from: module).union([module])
      #expect(!reached.contains("CrashConverter") && !reached.contains("ProcessSnapshot"))
      for module in reached {
        #expect(
          PackageManifest.special[module]?.contains("FoundationEssentials") != true, "\(module)")
      }
    }
    #expect(!layers.reachable(from: "CrashConverter").contains("CrashHandler"))
    #expect(!layers.reachable(from: "Postmortem").contains("CrashReportUpload"))
  }

  @Test func noProductHasWhatTestsAreMadeOf() async throws {
    let layers = try await PackageManifest.ofPackage()
    #expect(!layers.products.isEmpty)
    for product in layers.products {
      for target in product.targets {
        #expect(
          layers.reachable(from: target).union([target])
            .isDisjoint(with: ["CrashTestSupport", "CrashCatalogue", "proofs"]), "\(product.name)")
      }
    }
  }

  /// The document leaves out an arrow that other arrows imply.
  @Test func theModulesAndArrowsOfDocsDesignMdAreTheManifests() async throws {
    let layers = try await PackageManifest.ofPackage()
    var below: [String: Set<String>] = [:]
    for line in try House.text("Docs/Design.md").split(separator: "\n") {
      guard let row = line.firstMatch(of: #/^\| `(\w+)` \| ([\w`, ]*)\| /#) else { continue }
      below[String(row.1)] = Set(row.2.matches(of: #/\w+/#).map { String($0.0) })
    }
    func reachable(from module: String) -> Set<String> {
      (below[module] ?? []).reduce(into: []) { $0.formUnion(reachable(from: $1).union([$1])) }
    }
    for target in layers.targets where target.isSource {
      #expect(below[target.name] != nil, "\(target.name) has no row")
      #expect(reachable(from: target.name) == layers.reachable(from: target.name), "\(target.name)")
    }
  }

  /// If CSignalSafe included a system header, its module could own struct stat and similar types.
  ///
  /// The compiler could then reject the use of their members in a program that only imports Glibc.
  @Test func cSignalSafesHeadersDefineNothingOfTheSystem() throws {
    let directory = "Sources/CSignalSafe/include"
    let names = try FileManager.default.contentsOfDirectory(atPath: House.root + "/" + directory)
    var includes: Set<String> = []
    for name in names {
      for match in try House.text(directory + "/" + name).matches(of: /#include <([^>]+)>/) {
        includes.insert(String(match.1))
      }
    }
    // Three headers with types of the compiler, and one with macros only.
    #expect(includes == ["stdbool.h", "stddef.h", "stdint.h", "sys/syscall.h"])
  }
}
