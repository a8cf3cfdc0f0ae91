import CrashTestSupport
import Foundation
import Testing

/// On macOS and with Musl, a program compiles against the same interface, and the sources for these systems use
/// no Linux features.
///
/// The proof `platforms` builds them.
@Suite struct OtherSystemsTests {
  private let layers: PackageManifest

  init() async throws { layers = try await PackageManifest.ofOtherSystems() }

  /// The files of the library modules that are compiled on other systems.
  private func files() throws -> [House.File] {
    try layers.targets.filter { $0.directory.hasPrefix("Sources") }.flatMap { target in
      try (target.sources.map { $0.map { target.directory + "/" + $0 } } ?? [target.directory])
        .flatMap(House.swiftFiles)
    }
  }

  @Test func theInterfaceIsThatOfLinux() throws {
    let there = PublicInterface.lines(of: try files())
    // Leaves out conformances to a protocol that no product exports.
    let here = try PublicInterface.lines().filter { !$0.hasSuffix(": FieldValue") }
    #expect(here.count > 400)
    #expect(here.filter { !there.contains($0) } == [], "missing there")
    #expect(there.filter { !here.contains($0) } == [], "only there")
  }

  @Test func nothingOfLinuxOfCOrOfTheNewestMacOSIsImportedAndNoCIsCompiled() throws {
    let names = layers.targets.map(\.name)
    for file in try files() {
      #expect(
        PackageManifest.imports(in: file.text).allSatisfy {
          names.contains($0) || $0 == "Dispatch"
        },
        "\(file.path)")
    }
    for target in layers.targets {
      let folders = target.sources.map { $0.map { target.directory + "/" + $0 } }
      let sources = try (folders ?? [target.directory]).flatMap {
        try FileManager.default.subpathsOfDirectory(atPath: House.root + "/" + $0)
      }
      #expect(sources.contains { $0.hasSuffix(".swift") }, "\(target.name)")
      #expect(!sources.contains { $0.hasSuffix(".c") || $0.hasSuffix(".h") || $0.hasSuffix(".S") })
    }
  }

  @Test func theProductsAreTheThreeLibraries() {
    #expect(layers.products.map(\.name).sorted() == PublicInterface.products.sorted())
  }

  @Test func eachFileOfTheFolderPostmortemStubIsCompiledThereAndNoneOnLinux() async throws {
    let stubs = try House.swiftFiles(in: "Sources/PostmortemStub").map(\.path)
    #expect(stubs.count > 5)
    let compiled = try files().map(\.path)
    #expect(stubs.filter { !compiled.contains($0) } == [])
    for target in try await PackageManifest.ofPackage().targets {
      #expect(!target.directory.hasPrefix("Sources/PostmortemStub"))
      #expect(target.directory != "Sources")
    }
  }
}
