import CrashTestSupport
import Foundation
import Testing

/// The build on macOS, or with Musl: here on Linux, selected by an environment variable.
@Suite struct UnsupportedBuildTests {
  private let directory: SharedDirectory
  private var built: String { directory.path + "/build/debug" }

  init() throws { directory = try SharedDirectory() }

  /// Builds the libraries, MinimalCLI and ReportingService as on an unsupported system.
  private func build() async throws {
    let build = try await ChildProcess.run(
      "/usr/bin/env",
      [
        "TMPDIR=" + directory.path, "POSTMORTEM_PLATFORM=unsupported", "swift", "build",
        "--package-path", BuiltProducts.packageRoot, "--scratch-path", directory.path + "/build",
        "-Xswiftc",
        "-warnings-as-errors",
      ], in: directory.path, patience: 1200)
    let text = build.standardOutput + build.standardError
    try #require(build.end.exitCode == 0, "\(text)")
    #expect(!text.contains("warning:"), "\(text)")
  }

  @Test func programsSayThatCrashHandlingIsNotSupportedAndDoTheirWork() async throws {
    try await build()
    let minimal = try await ChildProcess.run(
      "/bin/sh", ["-c", "echo somebody | '\(built)/MinimalCLI'"], in: directory.path)
    #expect(minimal.end.exitCode == 0)
    #expect(minimal.standardOutput.contains("crash handling is not supported here"))
    #expect(minimal.standardOutput.hasSuffix("Hello, somebody\n"), "\(minimal.standardOutput)")

    let database = directory.path + "/database"
    let service = try await ChildProcess.run(
      "/bin/sh",
      [
        "-c",
        "printf 'one\\ndump\\ntwo\\n' | '\(built)/ReportingService' '\(database)' http://localhost/",
      ],
      in: directory.path)
    #expect(service.end.exitCode == 0)
    #expect(service.standardOutput.contains("crash handling is not supported here"))
    #expect(service.standardOutput.hasSuffix("ready\ndid one\ndid two\n"), "\(service)")
    #expect(!FileManager.default.fileExists(atPath: database))

    try readFiles()
  }

  @Test func anotherCLibraryThanGlibcStopsTheBuildWithTheRemedy() async throws {
    // Freestanding: without any C library.
    let header = BuiltProducts.packageRoot + "/Sources/CSignalSafe/include/CSignalSafe.h"
    let child = try await ChildProcess.run(
      try Toolchain.path(of: "clang"), ["-ffreestanding", "-fsyntax-only", "-x", "c", header],
      in: directory.path)
    #expect(child.end.exitCode == 1)
    #expect(child.standardError.contains("POSTMORTEM_PLATFORM=unsupported"))
  }

  /// Compares the files that the compiler read, from its own dependency lists, with those that every system has.
  private func readFiles() throws {
    let portable: Set<String> = [
      "Dispatch", "Swift", "SwiftOnoneSupport", "_Concurrency", "_StringProcessing",
    ]
    var modules = 0
    for name in try FileManager.default.contentsOfDirectory(atPath: built)
    where name.hasSuffix(".build") && name != "ReportingService.build" {
      let folder = built + "/" + name
      let lists = try FileManager.default.contentsOfDirectory(atPath: folder)
        .filter { $0.hasSuffix(".d") }
      guard !lists.isEmpty else { continue }
      modules += 1
      for list in lists {
        let text = try String(contentsOfFile: folder + "/" + list, encoding: .utf8)
        let read = text.matches(of: /(\S+)\/(\w+)\.swiftmodule\/\S+/).map { String($0.2) }
        #expect(read.allSatisfy(portable.contains), "\(name): \(Set(read).subtracting(portable))")
        let headers = text.matches(of: /\S+\.h(?=\s|$)/).map { String($0.0) }
          .filter { !$0.hasSuffix("-Swift.h") }
        #expect(headers == [], "\(name)")
      }
    }
    // The eleven library modules and MinimalCLI.
    #expect(modules == 12)
  }
}
