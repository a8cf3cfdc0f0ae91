import CrashTestSupport
import Foundation
import Testing

/// The C headers of the products, as a Swift target with C++ interoperability imports them.
@Suite struct HeaderTests {
  /// The headers of every C target that is linked into a product.
  private static func headers() async throws -> [String] {
    let package = try await PackageManifest.ofPackage()
    let reached = PublicInterface.products.reduce(into: Set<String>()) {
      $0.formUnion(package.reachable(from: $1))
    }
    return try package.targets.filter { reached.contains($0.name) }.flatMap { target in
      let directory = "\(House.root)/\(target.directory)/include"
      guard FileManager.default.fileExists(atPath: directory) else { return [String]() }
      return try FileManager.default.subpathsOfDirectory(atPath: directory)
        .filter { $0.hasSuffix(".h") }.map { "\(directory)/\($0)" }
    }
  }

  /// The result of parsing headers as C++.
  private struct Parsed {
    /// Errors and warnings.
    let faults: String
    /// The functions that would have the name of a C++ function; members and `static` functions do not count.
    let cxxFunctions: String
  }

  private static func parse(_ headers: [String], _ standard: String) async throws -> Parsed {
    let directory = try TemporaryDirectory()
    let source = directory.path + "/source.cpp"
    try headers.map { "#include \"\($0)\"\n" }.joined()
      .write(toFile: source, atomically: false, encoding: .utf8)
    let script = #""$@" -Xclang -ast-dump=json | grep -E '"mangledName": "_Z[0-9]'"#
    let parsed = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c", script, "sh", try Toolchain.path(of: "clang"), "-std=" + standard, "-Wall", "-Wextra",
        "-fsyntax-only", source,
      ], in: directory.path)
    return Parsed(faults: parsed.standardError, cxxFunctions: parsed.standardOutput)
  }

  @Test(arguments: ["c++17", "c++20"])
  func eachParsesAsCxxAndDeclaresCFunctions(standard: String) async throws {
    let headers = try await Self.headers()
    #expect(headers.count > 20)
    let parsed = try await Self.parse(headers, standard)
    #expect(parsed.faults == "")
    #expect(parsed.cxxFunctions == "")
  }

  @Test func plantedDeclarationsAreFound() async throws {
    let directory = try TemporaryDirectory()
    func parse(_ text: String) async throws -> Parsed {
      let header = directory.path + "/planted.h"
      try text.write(toFile: header, atomically: false, encoding: .utf8)
      return try await Self.parse([header], "c++17")
    }
    #expect(try await parse("_Bool f(void);").faults.contains("unknown type name '_Bool'"))
    #expect(try await parse("int g(void);").cxxFunctions.contains("_Z1gv"))
    let right = try await parse("extern \"C\" int h(void);")
    #expect(right.faults == "" && right.cxxFunctions == "")
  }
}
