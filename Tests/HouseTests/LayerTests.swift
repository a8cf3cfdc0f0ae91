import CrashTestSupport
import Foundation
import Testing

@Suite("Layers")
struct LayerTests {
  @Test("No source imports what its module may not")
  func imports() throws {
    let files = try House.swiftFiles(in: "Sources")
    #expect(files.contains { $0.module == "IntermediateDump" })
    for file in files {
      #expect(Layers.below[file.module] != nil, "\(file.module) has no place in the table")
      #expect(Layers.violations(in: file.text, of: file.module) == [], "\(file.path)")
    }
  }

  @Test("The checker finds what is planted")
  func planted() {
    let source =
      "internal import Glibc\nimport Foundation\npublic import struct CrashHandler.Handler"
    #expect(
      Layers.violations(in: source, of: "CrashConverter") == ["Foundation", "CrashHandler"])
    #expect(Layers.violations(in: source, of: "Postmortem") == ["Foundation"])
    #expect(Layers.violations(in: "// import Foundation", of: "Minidump") == [])
  }

  @Test("The handler and the converter never see each other, and no arrow turns back")
  func arrows() {
    #expect(!Layers.reachable(from: "CrashConverter").contains("CrashHandler"))
    #expect(
      Layers.reachable(from: "CrashHandler") == ["PendingDumps", "IntermediateDump", "CSignalSafe"])
    for module in Layers.below.keys {
      #expect(!Layers.reachable(from: module).contains(module), "\(module) reaches itself")
    }
  }

  @Test("The manifest gives no target a dependency it may not have")
  func manifest() async throws {
    let directory = try TemporaryDirectory()
    let dump = try await ChildProcess.run(
      "/usr/bin/env",
      [
        "swift", "package", "--package-path", House.root, "--scratch-path",
        directory.path + "/build",
        "dump-package",
      ], in: directory.path)
    try #require(dump.end.exitCode == 0, "\(dump.standardError)")
    let manifest = try JSONDecoder().decode(
      Manifest.self, from: Data(dump.standardOutput.utf8))
    #expect(manifest.targets.contains { $0.name == "IntermediateDump" })
    for target in manifest.targets where target.type != "test" && target.path == nil {
      let allowed = Layers.reachable(from: target.name)
      #expect(Layers.below[target.name] != nil, "\(target.name) has no place in the table")
      for name in target.dependencies.compactMap({ $0.byName?.first ?? nil }) {
        #expect(allowed.contains(name), "\(target.name) may not depend on \(name)")
      }
    }
    for product in manifest.products {
      for target in ["CrashTestSupport", "CrashCatalogue", "proofs"] {
        #expect(!product.targets.contains(target), "\(product.name)")
      }
    }
  }

  /// The part of `swift package dump-package` that matters here.
  private struct Manifest: Decodable {
    struct Target: Decodable {
      struct Dependency: Decodable {
        let byName: [String?]?
      }
      let name: String
      let type: String
      let path: String?
      let dependencies: [Dependency]
    }
    struct Product: Decodable {
      let name: String
      let targets: [String]
    }
    let targets: [Target]
    let products: [Product]
  }

  /// A header of the system in CSignalSafe would make that module an owner of struct stat and its kin, and a program
  /// that imports Glibc alone could be told that their members are not visible to it.
  @Test("CSignalSafe's headers define nothing of the system")
  func noSystemHeaders() throws {
    let directory = "Sources/CSignalSafe/include"
    let names = try FileManager.default.contentsOfDirectory(atPath: House.root + "/" + directory)
    var includes: Set<String> = []
    for name in names {
      for match in try House.text(directory + "/" + name).matches(of: /#include <([^>]+)>/) {
        includes.insert(String(match.1))
      }
    }
    // Two with types of the compiler, and one with macros only.
    #expect(includes == ["stddef.h", "stdint.h", "sys/syscall.h"])
  }
}
