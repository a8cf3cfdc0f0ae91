import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

@testable import CrashConverter

/// Two files with the same report ID: the converter never takes a report of something else for a dump's own.
@Suite struct SameIDTests {
  private let dumps: PendingDatabase

  init() throws {
    dumps = try PendingDatabase()
  }

  /// A different crash from `PendingDatabase.complete`.
  private static let other: [UInt8] =
    IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.process)
      writer.unsigned(.processID, 4242, width: 4)
      writer.end()
      writer.startMap(.exception)
      writer.unsigned(.exceptionThreadID, 4243, width: 4)
      writer.signed(.signalNumber, 6, width: 4)
      writer.end()
      _ = writer.endDocument()
    } ?? []

  @discardableResult
  private func process() throws -> [ProcessedDump] {
    try processIntermediateDumps(database: dumps.path, identifier: "app", storingSymbols: false)
  }

  private func snapshots() throws -> [ProcessSnapshot] {
    try dumps.reports.map { report in
      let bytes = try #require(FileManager.default.contents(atPath: report.path))
      let snapshot = try MinidumpReader.snapshot(of: Array(bytes))
      #expect(snapshot.reportID == report.id)
      return snapshot
    }
  }

  /// Adds a run of a dead process, which is reported as killed: an empty file and its record.
  private func putRun(_ id: ReportID) throws {
    var record = RunRecord(
      processID: 4242, startTime: 1, stackStart: 0, bootID: "another boot", processNamespace: 1,
      launchTime: 1)
    var course = RunCourse()
    course.followsExits = true
    record.course = course
    try dumps.put([], "app@\(id).locked")
    try dumps.put(try #require(record.encoded()), "app@\(id).run")
  }

  @Test func aReportOfAnEndStandsForNoDump() throws {
    let id = ReportID()
    try putRun(id)
    let end = try process()
    #expect(end.map(\.reportID) == [id])
    #expect(try snapshots().map { $0.end != nil } == [true])
    try dumps.put(PendingDatabase.complete, "app@\(id)")
    let crash = try process()
    #expect(crash.map(\.outcome) == [.complete])
    #expect(try snapshots().count == 2)
    let kept = try snapshots().first { $0.exception?.signal == 11 }
    #expect(kept?.reportID == crash.first?.reportID && kept?.reportID != id)
    #expect(dumps.names.isEmpty)
  }

  @Test func twoDumpsOfOneIDAreBothKept() throws {
    let id = try dumps.putDump()
    try process()
    try dumps.put(Self.other, "app@\(id)")
    #expect(try process().map(\.outcome) == [.complete])
    #expect(try snapshots().compactMap { $0.exception?.signal }.sorted() == [6, 11])
    // Adds either of them again, as after a converter that was killed before it could remove the dump.
    for bytes in [Self.other, PendingDatabase.complete] {
      try dumps.put(bytes, "app@\(id)")
      #expect(try process().map(\.outcome) == [.complete])
      #expect(try snapshots().count == 2)
    }
    #expect(dumps.names.isEmpty)
  }

  @Test func finishedAndLockedOfOneIDAtOnce() throws {
    let id = try dumps.putDump()
    let torn = Array(Self.other.dropLast())
    try dumps.put(torn, "app@\(id).locked")
    try dumps.putRecord(id, processID: 1, startTime: 1, bootID: "another boot", namespace: 1)
    #expect(try process().count == 2)
    #expect(try snapshots().compactMap { $0.exception?.signal }.sorted() == [6, 11])
    #expect(dumps.names.isEmpty)
  }

  @Test func anEmptyLockedFileBesideADumpOfItsIDTellsNothing() throws {
    let id = try dumps.putDump()
    try putRun(id)
    #expect(try process().map(\.reportID) == [id])
    #expect(try snapshots().map { $0.exception?.signal } == [11])
    #expect(dumps.names.isEmpty)
  }

  @Test func aClaimedFileOfTheSameIDIsNotWrittenOver() throws {
    let id = ReportID()
    let role = PendingDumpName.Role.claimed(attempt: 1, processID: 0, startTime: 0, place: 0)
    let given = try #require(PendingDumpName(identifier: "app", reportID: id, role: role))
    try dumps.put(PendingDatabase.complete, given.description)
    try dumps.put(Self.other, "app@\(id)")
    #expect(try process().map(\.outcome) == [.complete, .complete])
    #expect(try snapshots().compactMap { $0.exception?.signal }.sorted() == [6, 11])
  }

  @Test func aDumpThatIsWrittenToMeanwhileIsKept() throws {
    let id = ReportID()
    let name = "app@\(id)"
    // The converter calls the source of a user stream between reading and removing the dump.
    struct Writer: UserStreamDataSource {
      let append: @Sendable () throws -> Void
      func stream(of process: CrashedProcess) throws -> UserStream? {
        try append()
        return nil
      }
    }
    try dumps.put(Array(PendingDatabase.complete.dropLast(20)), name)
    let writer = Writer {
      let claim = try #require(dumps.names.first { $0.contains("\(id).") })
      let file = try FileHandle(
        forWritingTo: URL(fileURLWithPath: dumps.path(of: claim)))
      try file.seekToEnd()
      try file.write(contentsOf: PendingDatabase.complete.suffix(20))
    }
    let first = try processIntermediateDumps(
      database: dumps.path, storingSymbols: false, userStreams: [writer])
    #expect(first.map(\.outcome.kind) == [.torn])
    #expect(try process().map(\.outcome) == [.complete])
    #expect(try snapshots().map(\.capture.isComplete).sorted { !$0 && $1 } == [false, true])
    #expect(dumps.names.isEmpty)
  }

  @Test func aFileThatWasJudgedEmptyAndIsWrittenToIsLeft() throws {
    let id = ReportID()
    try putRun(id)
    let pending = try openPendingDirectory(
      of: CrashReportDatabase(path: dumps.path), identifier: "app")
    let file = try #require(try pending.files().first { $0.name.role == .locked })
    guard case .taken(let claim) = try pending.claim(file) else {
      Issue.record("not taken")
      return
    }
    #expect(claim.run != nil)
    let before = try pending.isEmpty(claim)
    try dumps.put(PendingDatabase.complete, claim.name.description)
    let after = try pending.isEmpty(claim)
    #expect(before && !after)
    try pending.giveBack(claim, countsAttempt: false)
    #expect(try process().map(\.outcome) == [.complete])
    #expect(try snapshots().map { $0.end == nil } == [true])
  }
}
