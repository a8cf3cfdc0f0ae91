import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

/// A dump that ends its converter does so twice at most: the third start quarantines it.
@Suite(.needs(.strace))
struct QuarantineTests {
  /// The kind of file that a process left; the raw value is the suffix of its name.
  enum Left: String, CaseIterable, CustomTestStringConvertible {
    case finished = ""
    case locked = ".locked"
    /// The file of a run that ended without a dump; the converter reads its run record.
    case empty = ".locked and empty"

    var testDescription: String { "\(self)" }

    func put(in dumps: PendingDatabase) throws -> ReportID {
      let isEmpty = self == .empty
      let id = try dumps.putDump(
        isEmpty ? [] : PendingDatabase.complete, suffix: self == .finished ? "" : ".locked")
      try dumps.putRecord(id, processID: 1, startTime: 1, bootID: "another", namespace: 1)
      return id
    }
  }

  /// Copies a database, so that another converter can first do the same to it.
  private func copy(_ dumps: PendingDatabase) throws -> SharedDirectory {
    let directory = try SharedDirectory(inMemory: true)
    for name in try FileManager.default.contentsOfDirectory(atPath: dumps.path) {
      // Copies the file times as well, because they decide in which order the converter takes the files.
      let status = unsafe system("cp -a '\(dumps.path)/\(name)' '\(directory.path)/'")
      try #require(status == 0)
    }
    return directory
  }

  @Test(arguments: Left.allCases)
  func nothingOfADumpIsReadBeforeItsAttemptIsCounted(_ left: Left) async throws {
    let dumps = try PendingDatabase(inMemory: true)
    let id = try left.put(in: dumps)
    let trace = try await SystemCallTrace(database: dumps.path)
    let claim = try #require(trace.index(of: "renameat", "renameat2", with: "app@\(id).1-"))
    let before = trace.calls[..<claim].filter {
      $0.name == "openat" && $0.line.contains("app@\(id)")
    }
    // The run record shows whether the owner lives.
    #expect(
      before.allSatisfy { left != .finished && $0.line.contains("app@\(id).run\"") },
      "\(before.map(\.line))")
    let first = trace.calls[claim...].first {
      $0.name == "openat" && $0.line.contains("app@\(id).")
    }
    #expect(first?.line.contains(left == .empty ? ".run\"" : ".claimed\"") == true)
  }

  /// Kills two converters while they read the dump.
  private func endTwo(at left: Left, _ id: ReportID, in dumps: PendingDatabase) async throws {
    for attempt in 1...2 {
      let sample = try copy(dumps)
      let trace = try await SystemCallTrace(database: sample.path)
      let claim = try #require(
        trace.index(of: "renameat", "renameat2", with: ".\(attempt)-"), "attempt \(attempt)")
      let reading = try #require(
        trace.calls[claim...].first {
          $0.name == "openat"
            && $0.line.contains(left == .empty ? "app@\(id).run\"" : ".claimed\"")
        }, "attempt \(attempt)")
      #expect(try await SystemCallTrace.kill(at: reading, database: dumps.path))
      #expect(dumps.names.contains { $0.contains("app@\(id).\(attempt)-") }, "\(dumps.names)")
      #expect(dumps.directory.names("quarantine") == [])
    }
  }

  @Test func ofConvertersThatWereKilledAsTheySetADumpAsideNothingLiesBesideIt() async throws {
    let dumps = try PendingDatabase(inMemory: true)
    let id = try Left.finished.put(in: dumps)
    try await endTwo(at: .finished, id, in: dumps)
    // One converter was killed while it wrote the reason, the next one after it had moved the dump.
    let quarantine = "\(dumps.path)/quarantine"
    try FileManager.default.createDirectory(
      atPath: quarantine, withIntermediateDirectories: false)
    let reason = "\(quarantine)/app@\(id).reason.7.tmp"
    #expect(FileManager.default.createFile(atPath: reason, contents: Data()))
    let sample = try copy(dumps)
    let trace = try await SystemCallTrace(database: sample.path)
    let move = trace.index(
      of: "linkat", "renameat", "renameat2", with: "/quarantine>, \"app@\(id)\"")
    let next = try #require(
      trace.calls.dropFirst((move ?? trace.calls.count) + 1)
        .first { $0.line.contains("app@\(id)") })
    #expect(try await SystemCallTrace.kill(at: next, database: dumps.path))
    _ = try processIntermediateDumps(database: dumps.path, identifier: "app")
    let names = dumps.directory.names("quarantine").filter { !$0.hasSuffix(".run") }
    #expect(names == ["app@\(id)", "app@\(id).reason"])
    #expect(try dumps.reports.isEmpty)
  }

  @Test(arguments: Left.allCases)
  func whatEndsTwoConvertersIsSetAsideAtTheThirdStart(_ left: Left) async throws {
    let dumps = try PendingDatabase(inMemory: true)
    let id = try left.put(in: dumps)
    try await endTwo(at: left, id, in: dumps)
    // Another dump of the same program is still converted.
    let other = try dumps.putDump()
    let processed = try processIntermediateDumps(database: dumps.path, identifier: "app")
    #expect(processed.count == 2, "\(processed)")
    for dump in processed {
      switch dump.outcome.kind {
      case .quarantined:
        #expect(dump.reportID == id)
        #expect(
          dump.outcome.reason.contains("2 attempts before, the last of which ended its converter"))
      case .complete: #expect(dump.reportID == other)
      default: Issue.record("\(dump)")
      }
    }
    let quarantine = dumps.directory.names("quarantine")
    #expect(quarantine == ["app@\(id)", "app@\(id).reason", "app@\(id).run"])
    #expect(dumps.names == [])
    #expect(try dumps.reports.map(\.id) == [other])
  }
}
