import CrashTestSupport
import Foundation
import Glibc
import ProcessSnapshot
import Testing

/// A database on a file system that gives a file another inode number in each answer.
@Suite(
  .enabled("needs root and /dev/fuse, for mount") {
    geteuid() == 0 && FileManager.default.fileExists(atPath: "/dev/fuse")
  })
struct ChangingInodeTests {
  /// Runs crash-lab with a database there; then lists the files that it left, and copies those of the database.
  private func run(
    _ arguments: [String], filter: String? = nil, in directory: borrowing TemporaryDirectory
  ) async throws -> ChildProcess {
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let mounted = try directory.subdirectory("mounted")
    let script = """
      "$@" --database \(mounted)/db
      status=$?
      cp -r \(mounted)/db \(directory.path)/database
      exit $status
      """
    var environment = ["SWIFT_BACKTRACE": "enable=no"]
    environment["CRASHLAB_FILTER"] = filter
    return try await ChildProcess.run(
      "/usr/bin/env",
      [
        "python3", BuiltProducts.packageRoot + "/Tests/Proofs/Root/ChangingInodes.py", mounted,
        "sh", "-c",
        script, "sh", victim,
      ] + arguments, in: directory.path, environment: environment)
  }

  private func names(_ directory: borrowing TemporaryDirectory) throws -> [String] {
    try FileManager.default.contentsOfDirectory(
      atPath: directory.path + "/database/pending-serialized-dumps")
  }

  @Test(arguments: ["main", "pthread"]) func aCrashLeavesItsOneDump(place: String) async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(["null-read", "--threads", "2", "--on", place], in: directory)
    #expect(child.end.exitCode == 139, "\(child)")
    #expect(try names(directory).filter { $0.hasSuffix(".locked") } == [])
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.hasOneCompleteReport, "\(reports.processed) \(reports.leftovers)")
  }

  @Test func aRegularExitLeavesNoFile() async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(["exit"], in: directory)
    #expect(child.end.exitCode == 0, "\(child)")
    #expect(try names(directory) == [])
  }

  @Test func aDumpWithoutACrashIsWritten() async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(["live-dump", "deferred"], in: directory)
    #expect(child.end.exitCode == 0, "\(child)")
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.snapshots.count == 1, "\(reports.processed) \(reports.leftovers)")
  }

  @Test func aDumpWhoseDescriptorsWereClosedGoesToAnotherFile() async throws {
    let directory = try TemporaryDirectory()
    let child = try await run(
      ["null-read", "--condition", "close-range"], in: directory)
    #expect(child.end.exitCode == 139, "\(child)")
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.snapshots.count == 1, "\(reports.processed) \(reports.leftovers)")
  }
}
