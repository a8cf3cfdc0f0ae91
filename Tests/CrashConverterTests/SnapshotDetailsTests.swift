import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

@testable import CrashConverter

/// The details of a report that a conversion stores in the index for lists and exports.
@Suite struct SnapshotDetailsTests {
  /// A dump of a process that continued: two units of work, and two tasks that wait for each other.
  private static let dump: [UInt8] = {
    var tasks = AllTasks(
      count: 7,
      groups: [
        TaskGroup(
          state: .awaitsTask, count: 2,
          records: [TaskRecord(id: 5, awaited: 9), TaskRecord(id: 9, awaited: 5)])
      ])
    tasks.bytesSeen = 1 << 20
    let work = OpenContextTable([
      .init(at: 50_000_000_000, work: 2, [(name: "route", value: "/new")]),
      .init(
        at: 17_000_000_000, work: 1,
        [(name: "route", value: "/export"), (name: "user", value: "17")]),
    ])
    return IntermediateDumpEncoding.encode { writer in
      writer.header()
      writer.startMap(.process)
      writer.unsigned(.processID, 4242, width: 4)
      writer.unsigned(.crashUptime, 60_000_000_000)
      writer.end()
      writer.startMap(.dumpRequest)
      writer.unsigned(.requestKind, UInt64(RequestKind.program.rawValue), width: 1)
      writer.end()
      writer.startMap(.exception)
      writer.unsigned(.exceptionThreadID, 4242, width: 4)
      writer.end()
      writer.bytes(.openContexts, work.bytes)
      writer.bytes(.allTasks, tasks.bytes)
      _ = writer.endDocument()
    } ?? []
  }()

  @Test func tasksAndWorkInFlightAreInTheIndex() throws {
    let dumps = try PendingDatabase()
    try dumps.putDump(Self.dump)
    #expect(try processIntermediateDumps(database: dumps.path).map(\.outcome) == [.complete])
    let report = try #require(try dumps.reports.first)
    let bytes = try #require(FileManager.default.contents(atPath: report.path))
    let snapshot = try MinidumpReader.snapshot(of: Array(bytes))
    #expect(snapshot.request != nil && snapshot.allTasks?.cycles == [[5, 9]])
    let index = ReportIndex(in: try CrashReportDatabase(path: dumps.path).open())
    let facts = try #require(index.facts(of: report))
    #expect(facts.cause == "deadlock")
    let details = try #require(facts.details)
    #expect(details.kind == .dump)
    #expect(details[.tasks] == 7)
    #expect(details[.inFlight] == 2 && details[.oldestInFlight] == 43_000_000_000)
    #expect(
      details.inFlightValues
        == [.init(name: "route", value: "/export"), .init(name: "user", value: "17")])
  }

  @Test func aDumpWithoutThemHasNone() throws {
    let snapshot = ProcessSnapshot(architecture: .x86_64)
    let details = ReportDetails(of: snapshot, nil)
    #expect(details[.tasks] == nil && details[.inFlight] == nil)
    #expect(details[.oldestInFlight] == nil && details.inFlightValues.isEmpty)
  }
}
