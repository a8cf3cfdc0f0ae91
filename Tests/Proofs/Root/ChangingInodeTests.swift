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
  /// Runs crash-lab with a database there; then copies the files that it left.
  private func run(
    _ arguments: [String], in directory: borrowing TemporaryDirectory
  ) async throws -> ChildProcess {
    let victim = try await BuiltProducts.shared.executable("crash-lab", .asTested)
    let mounted = try directory.subdirectory("mounted")
    let copies = directory.path + "/database/pending-serialized-dumps"
    let script = """
      "$@" --database \(mounted)/db
      status=$?
      # cp refuses to copy a file whose inode number changes.
      mkdir -p \(copies)
      for file in \(mounted)/db/pending-serialized-dumps/*; do
        [ ! -f "$file" ] || cat "$file" > \(copies)/"${file##*/}"
      done
      exit $status
      """
    let environment = ["SWIFT_BACKTRACE": "enable=no"]
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
