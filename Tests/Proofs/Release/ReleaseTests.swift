import CrashTestSupport
import Foundation
import Testing

/// The script that makes a release, run on clones of this repository.
@Suite(.serialized)
struct ReleaseTests {
  private let directory: SharedDirectory
  private var clone: String { directory.path + "/swift-postmortem" }
  private static let version = "9.1.0"

  /// Clones the committed state of this repository.
  init() async throws {
    directory = try SharedDirectory()
    try await run("git", "clone", "--quiet", BuiltProducts.packageRoot, clone)
    try await run("git", "-C", clone, "config", "user.email", "release@example.com")
    try await run("git", "-C", clone, "config", "user.name", "Release")
  }

  @discardableResult
  private func run(
    _ words: String..., status: Int32 = 0
  ) async throws -> String {
    let child = try await ChildProcess.run(
      "/usr/bin/env", words, in: directory.path, environment: ["TMPDIR": directory.path],
      patience: 1800)
    #expect(child.end.exitCode == status, "\(words): \(child.standardOutput)\(child.standardError)")
    return child.standardOutput
  }

  private func edit(_ file: String, _ change: (String) -> String) throws {
    let path = clone + "/" + file
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let changed = change(text)
    try #require(changed != text, "\(file) has not what is to be changed")
    try changed.write(toFile: path, atomically: false, encoding: .utf8)
  }

  /// Writes a version number into the source and CHANGELOG, and commits.
  private func prepare(_ version: String) async throws {
    try edit("Sources/CrashReport/PackageVersion.swift") {
      $0.replacing(
        /static let version = "[^"]*"/, with: "static let version = \"\(version)\"")
    }
    try edit("CHANGELOG.md") {
      $0.replacing("## [Unreleased]\n", with: "## [Unreleased]\n\n## [\(version)] - 2026-12-01\n")
    }
    try await run("git", "-C", clone, "commit", "--quiet", "--all", "-m", version)
  }

  private func check(_ version: String, isReady: Bool) async throws -> String {
    try await run(
      "bash", clone + "/.ci/release", version, "--dry-run", status: isReady ? 0 : 1)
  }

  @Test func itAsksForTheVersionTheHeadingAndACleanTree() async throws {
    let early = try await check(Self.version, isReady: false)
    #expect(early.contains("PackageVersion.version") && early.contains("CHANGELOG.md"))
    try await prepare(Self.version)
    #expect(try await check(Self.version, isReady: true).contains("ready"))
    try edit("README.md") { $0 + "\n" }
    #expect(try await check(Self.version, isReady: false).contains("work tree"))
    try await run("bash", clone + "/.ci/release", "1.0", status: 64)
  }

  @Test func itKnowsWhichVersionAChangeOfAStableFileNeeds() async throws {
    try await prepare(Self.version)
    try await run("git", "-C", clone, "tag", Self.version)
    try edit("Tests/HouseTests/PublicInterface.txt") { $0 + "Postmortem func another()\n" }
    try await prepare("9.1.1")
    #expect(try await check("9.1.1", isReady: false).contains("needs a minor version"))
    try await prepare("9.2.0")
    _ = try await check("9.2.0", isReady: true)
    try await run("git", "-C", clone, "tag", "9.2.0")
    try edit("Docs/Reference/ReportSchema.json") {
      $0.replacing("\"storedAtConversion\"", with: "\"kept\"")
    }
    try edit("Docs/Reference/Export.md") { $0.replacing("| `openFiles` |", with: "| `files` |") }
    try await prepare("9.3.0")
    let minor = try await check("9.3.0", isReady: false)
    #expect(minor.contains("ReportSchema.json has lost or changed"))
    #expect(minor.contains("which needs a major version: openFiles integer or null"))
    try await prepare("10.0.0")
    _ = try await check("10.0.0", isReady: true)
    // A key's number must not change from version to version.
    try edit("Docs/Internals/IntermediateDumpFormat.md") {
      $0.replacing("| 105 | `version`", with: "| 105 | `release`")
    }
    try await prepare("11.0.0")
    #expect(try await check("11.0.0", isReady: false).contains("105 version text"))
    #expect(try await check("9.2.0", isReady: false).contains("there already"))
  }

  @Test func aPackageThatDependsOnATagResolvesIt() async throws {
    try await run("git", "-C", clone, "tag", "1.0.0")
    let package = directory.path + "/app/Sources/app"
    try FileManager.default.createDirectory(atPath: package, withIntermediateDirectories: true)
    let root = directory.path + "/app"
    try """
    // swift-tools-version: 6.3
    import PackageDescription

    let package = Package(
      name: "app",
      dependencies: [.package(url: "file://\(clone)", from: "1.0.0")],
      targets: [
        .executableTarget(
          name: "app", dependencies: [.product(name: "Postmortem", package: "swift-postmortem")])
      ]
    )
    """.write(toFile: root + "/Package.swift", atomically: false, encoding: .utf8)
    let example = try String(
      contentsOfFile: clone + "/Examples/MinimalCLI/main.swift", encoding: .utf8)
    let database = directory.path + "/database"
    try example.replacing("/var/tmp/minimal-cli-crashes", with: database)
      .write(toFile: package + "/main.swift", atomically: false, encoding: .utf8)
    try await run("swift", "package", "--package-path", root, "resolve")
    let resolved = try String(contentsOfFile: root + "/Package.resolved", encoding: .utf8)
    #expect(resolved.contains("\"1.0.0\""))
    guard ProcessInfo.processInfo.environment["POSTMORTEM_PACKAGE_BUILD"] != nil else { return }
    for product in ["app", "postmortem"] {
      try await run("swift", "build", "--package-path", root, "--product", product)
    }
    let built = root + "/.build/debug"
    let crash = try await ChildProcess.run(built + "/app", [], in: directory.path)
    #expect(crash.end.signal == SIGILL || crash.end.signal == SIGTRAP, "\(crash.end)")
    let line = try await run(built + "/postmortem", "process", database)
    #expect(line.contains("swift-fatal-error"), "\(line)")
  }
}
