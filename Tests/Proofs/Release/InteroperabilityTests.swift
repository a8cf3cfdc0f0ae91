import CrashTestSupport
import Foundation
import Testing

/// Programs in Swift and C++, with `.interoperabilityMode(.Cxx)`.
@Suite struct InteroperabilityTests {
  private static let products = ["Postmortem", "PostmortemHandler", "PostmortemUpload"]

  /// Checks types only, against the modules of this build.
  @Test(arguments: products, ["c++17", "c++20"])
  func eachProductIsImported(_ product: String, _ standard: String) async throws {
    let directory = try TemporaryDirectory()
    let file = directory.path + "/main.swift"
    try "import CxxStdlib\nimport \(product)\n"
      .write(toFile: file, atomically: false, encoding: .utf8)
    let child = try await ChildProcess.run(
      try Toolchain.path(of: "swiftc"),
      ["-typecheck", "-swift-version", "6", "-cxx-interoperability-mode=default"]
        + ["-Xcc", "-std=" + standard, "-module-cache-path", directory.path + "/cache", file]
        + BuiltModules.searchOptions(), in: directory.path, patience: 300)
    #expect(child.end.exitCode == 0 && child.standardError == "", "\(child.standardError)")
  }

  /// The configurations in which a package is built, which takes minutes; none without `--full`.
  private static let configurations =
    ProcessInfo.processInfo.environment["POSTMORTEM_PACKAGE_BUILD"] == nil
    ? [] : ["debug", "release"]

  private struct Report: Decodable, Equatable {
    let signal: String
    let cause: String
    let place: String
  }

  private struct Crash {
    let way: String
    let report: Report
  }

  #if arch(arm64)
    private static let trap = "SIGTRAP"
  #else
    private static let trap = "SIGILL"
  #endif

  private static let crashes = [
    // The exception reaches a function in Swift, whose runtime aborts.
    Crash(
      way: "throw",
      report: Report(
        signal: "SIGABRT", cause: "swift-fatal-error",
        place: "thrower::throwsIt at Thrower.cpp:11")),
    // The exception reaches a function in C++ that lets none through.
    Crash(
      way: "terminate",
      report: Report(
        signal: "SIGABRT", cause: "cxx-exception",
        place: "thrower::letsNoneThrough at Thrower.cpp:12")),
    Crash(
      way: "trap",
      report: Report(
        signal: trap, cause: "swift-fatal-error", place: "top-level code at main.swift:13")),
  ]

  @Test(.serialized, arguments: configurations)
  func inAPackageWithCxxEachCrashIsReported(_ configuration: String) async throws {
    let directory = try SharedDirectory()
    let root = directory.path + "/app"
    try Self.writePackage(to: root)
    let build = try await ChildProcess.run(
      "/usr/bin/env",
      ["TMPDIR=" + directory.path, "swift", "build", "-c", configuration, "--package-path", root],
      in: directory.path, patience: 1800)
    try #require(build.end.exitCode == 0, "\(build.standardOutput)\(build.standardError)")
    for product in Self.products {
      let program = "\(root)/.build/\(configuration)/With\(product)"
      for crash in Self.crashes {
        let database = "\(directory.path)/\(product)-\(crash.way)"
        let end = try await ChildProcess.run(
          program, [database, "do " + crash.way], in: directory.path)
        #expect(end.standardOutput == "2\n")
        let report = try await Self.onlyReport(in: database, directory)
        #expect(report == crash.report, "\(product) \(crash.way)")
      }
    }
  }

  private static func onlyReport(
    in database: String, _ directory: SharedDirectory
  ) async throws -> Report {
    let tool = try BuiltProducts.besideTests("postmortem")
    _ = try await ChildProcess.run(tool, ["process", database], in: directory.path)
    let list = try await ChildProcess.run(
      tool, ["list", "--json", database], in: directory.path)
    let reports = try JSONDecoder().decode([Report].self, from: Data(list.standardOutput.utf8))
    #expect(reports.count == 1)
    return try #require(reports.first)
  }

  // MARK: - The package

  /// Writes a package with a target in C++, and a program in Swift and C++ for each product.
  private static func writePackage(to root: String) throws {
    let targets = products.map { product in
      // This product has no startHandler.
      let more = product == "PostmortemUpload" ? ["PostmortemHandler"] : []
      let dependencies = ([product] + more).map {
        #".product(name: "\#($0)", package: "swift-postmortem")"#
      }
      return """
          .executableTarget(
            name: "With\(product)", dependencies: ["Thrower", \(dependencies.joined(separator: ", "))],
            swiftSettings: [.interoperabilityMode(.Cxx)]),
        """
    }
    var files = [
      "Package.swift": """
      // swift-tools-version: 6.3
      import PackageDescription

      let package = Package(
        name: "app",
        dependencies: [.package(name: "swift-postmortem", path: "\(BuiltProducts.packageRoot)")],
        targets: [
          .target(name: "Thrower"),
      \(targets.joined(separator: "\n"))
        ],
        cxxLanguageStandard: .cxx20
      )
      """,
      "Sources/Thrower/include/Thrower.h": """
      #pragma once
      #include <string>
      #include <vector>
      namespace thrower {
      std::vector<std::string> words(const std::string &text);
      void throwsIt();
      void letsNoneThrough() noexcept;
      }
      """,
      "Sources/Thrower/Thrower.cpp": """
      #include "Thrower.h"
      #include <sstream>
      #include <stdexcept>
      namespace thrower {
      std::vector<std::string> words(const std::string &text) {
        std::istringstream stream(text);
        std::vector<std::string> all;
        for (std::string word; stream >> word;) all.push_back(word);
        return all;
      }
      void throwsIt() { throw std::runtime_error("thrown in C++"); }
      void letsNoneThrough() noexcept { throwsIt(); }
      }
      """,
    ]
    for product in products {
      let more = product == "PostmortemUpload" ? "\nimport PostmortemHandler" : ""
      files["Sources/With\(product)/main.swift"] = """
        import CxxStdlib
        import Glibc
        import \(product)\(more)
        import Thrower

        try startHandler(database: CommandLine.arguments[1])
        let words = thrower.words(std.string(CommandLine.arguments[2]))
        print(words.size())
        fflush(nil)
        switch String(words[1]) {
        case "throw": thrower.throwsIt()
        case "terminate": thrower.letsNoneThrough()
        default: fatalError("in Swift")
        }
        """
    }
    for (name, text) in files {
      let path = root + "/" + name
      try FileManager.default.createDirectory(
        atPath: URL(filePath: path).deletingLastPathComponent().path,
        withIntermediateDirectories: true)
      try text.write(toFile: path, atomically: false, encoding: .utf8)
    }
  }
}
