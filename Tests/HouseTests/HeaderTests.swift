import CrashTestSupport
import Foundation
import Testing

/// The C headers of the products, as a Swift target with C++ interoperability imports them.
@Suite struct HeaderTests {
  /// The headers of every C target that is linked into a product.
  private static func headers() async throws -> (all: [String], directories: [String]) {
    let package = try await PackageManifest.ofPackage()
    let reached = PublicInterface.products.reduce(into: Set<String>()) {
      $0.formUnion(package.reachable(from: $1))
    }
    let directories = package.targets.filter { reached.contains($0.name) }
      .map { "\(House.root)/\($0.directory)/include" }
      .filter { FileManager.default.fileExists(atPath: $0) }
    let all = try directories.flatMap { directory in
      try FileManager.default.subpathsOfDirectory(atPath: directory).filter { $0.hasSuffix(".h") }
        .map { "\(directory)/\($0)" }
    }
    return (all, directories)
  }

  /// Returns how clang's parse ended, and the declarations of the header as JSON.
  private static func parse(
    _ header: String, _ standard: String, _ directories: [String]
  ) async throws -> ChildProcess {
    try await ChildProcess.run(
      try Toolchain.path(of: "clang"),
      ["-x", "c++", "-std=" + standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
        + ["-Wno-pragma-once-outside-header", "-Xclang", "-ast-dump=json"]
        + directories.flatMap { ["-I", $0] } + [header],
      in: FileManager.default.temporaryDirectory.path)
  }

  /// True if a function other than a member or a `static` one has the name of a C++ function.
  private static func hasFunctionOfCxx(_ declarations: String) -> Bool {
    declarations.contains(/"mangledName": "_Z\d/)
  }

  @Test(arguments: ["c++17", "c++20"])
  func eachParsesAsCxxAndDeclaresCFunctions(standard: String) async throws {
    let (all, directories) = try await Self.headers()
    #expect(all.count > 20)
    for header in all {
      let parsed = try await Self.parse(header, standard, directories)
      #expect(parsed.end.exitCode == 0, "\(parsed.standardError)")
      #expect(!Self.hasFunctionOfCxx(parsed.standardOutput), "\(header)")
    }
  }

  @Test(arguments: [
    (line: "_Bool f(void);", parses: false), (line: "int g(void);", parses: true),
    (line: "extern \"C\" int h(void);", parses: true),
  ])
  func plantedLinesAreSeen(line: String, parses: Bool) async throws {
    let directory = try TemporaryDirectory()
    let header = directory.path + "/planted.h"
    try line.write(toFile: header, atomically: false, encoding: .utf8)
    let parsed = try await Self.parse(header, "c++17", [])
    #expect((parsed.end.exitCode == 0) == parses, "\(parsed.standardError)")
    #expect(Self.hasFunctionOfCxx(parsed.standardOutput) == line.contains("int g"))
  }
}
