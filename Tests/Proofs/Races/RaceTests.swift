import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

@Suite struct RaceTests {
  private let dumps: PendingDumps

  init() throws {
    dumps = try PendingDumps()
  }

  /// Every dump is one whole report, and nothing else is left.
  private func checkReports(of ids: [ReportID]) throws {
    let reports = try dumps.reports
    #expect(Set(reports.map(\.id)) == Set(ids))
    #expect(reports.count == ids.count)
    #expect(reports.allSatisfy { $0.state == .pending })
    for report in reports {
      let bytes = try #require(FileManager.default.contents(atPath: report.path))
      #expect(try MinidumpReader.snapshot(of: Array(bytes)).reportID == report.id)
    }
    #expect(dumps.names.isEmpty)
    #expect(dumps.folder.names("quarantine").isEmpty)
  }

  @Test func manyThreadsMakeOneReportOfEachDump() async throws {
    let ids = try (0..<30).map { _ in try dumps.putDump() }
    let path = dumps.path
    let all = try await withThrowingTaskGroup(of: [ProcessedDump].self) { group in
      for _ in 0..<8 {
        group.addTask { try processIntermediateDumps(database: path, identifier: "app") }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    // A thread that finds another one at work on a dump says so.
    let processed = all.filter { !$0.description.contains(": left for now: ") }
    #expect(processed.allSatisfy { $0.outcome == .complete })
    #expect(processed.map(\.reportID).sorted() == ids.sorted(), "each processed by one thread")
    try checkReports(of: ids)
  }

  @Test func manyProcessesMakeOneReportOfEachDump() throws {
    let ids = try (0..<30).map { _ in try dumps.putDump() }
    let racers = try (0..<6).map { _ in try Racer(database: dumps.path) }
    for racer in racers { try racer.letGo() }
    let lines = try racers.flatMap { try $0.lines() }.filter { !$0.contains(": left for now: ") }
    #expect(lines.sorted() == ids.map { "report \($0) from app@\($0): complete" }.sorted())
    try checkReports(of: ids)
  }

  @Test func killedConvertersLoseNothingAndDoubleNothing() throws {
    var ids: [ReportID] = []
    for round in 0..<5 {
      ids += try (0..<8).map { _ in try dumps.putDump() }
      // However far each comes before it dies, the next one goes on from there. One fewer than the
      // attempts that a dump has, so that none can be set aside for them.
      for delay in 0..<2 {
        let racer = try Racer(database: dumps.path)
        try racer.letGo()
        usleep(UInt32(5000 + 4000 * (2 * round + delay)))
        racer.kill()
        _ = try racer.lines()
      }
      _ = try processIntermediateDumps(database: dumps.path, identifier: "app")
    }
    // A killed converter may have left a half-written report, which is not one.
    let left = try dumps.reports.filter { $0.state == .new }
    for report in left {
      try FileManager.default.removeItem(atPath: report.path)
    }
    try checkReports(of: ids)
  }

  @Test func aClaimIsTakenOverOnceItsConverterIsDead() throws {
    let racer = try Racer(database: dumps.path)
    let id = ReportID()
    let claim = try claimName(id, processID: racer.processID)
    try dumps.put(PendingDumps.complete, claim)
    let left = try processIntermediateDumps(database: dumps.path, identifier: "app")
    #expect(
      left.map(\.outcome)
        == [.left("converter \(racer.processID) is at work on it", until: nil)])
    #expect(dumps.names == [claim])
    racer.kill()
    _ = try racer.lines()
    #expect(
      try processIntermediateDumps(database: dumps.path, identifier: "app").map(\.outcome)
        == [.complete])
    try checkReports(of: [id])
  }

  /// The name of a claim that a live process of this place holds.
  private func claimName(_ id: ReportID, processID: UInt32) throws -> String {
    let host = HostIdentity.current()
    guard case .found(let process) = ProcessProbe.look(at: processID),
      let name = PendingDumpName(
        identifier: "app", reportID: id,
        role: .claimed(
          attempt: 1, processID: processID, startTime: process.startTime, place: host.place))
    else { throw CocoaError(.featureUnsupported) }
    try #require(host.place != 0, "/proc tells who we are")
    return name.description
  }

  @Test func aDumpThatKillsItsConvertersIsSetAsideInTheEnd() throws {
    let id = ReportID()
    for (attempt, isTaken) in [(2, true), (3, false)] as [(UInt32, Bool)] {
      let role = PendingDumpName.Role.claimed(
        attempt: attempt, processID: 0, startTime: 0, place: 0)
      let name = try #require(PendingDumpName(identifier: "app", reportID: id, role: role))
      try dumps.put(PendingDumps.complete, name.description)
      let outcome = try processIntermediateDumps(database: dumps.path).first?.outcome
      if isTaken {
        #expect(outcome == .complete)
      } else if case .quarantined(let reason)? = outcome {
        #expect(reason.contains("3 attempts before"))
      } else {
        Issue.record("\(String(describing: outcome))")
      }
    }
    #expect(dumps.folder.names("quarantine") == ["app@\(id)", "app@\(id).reason"])
  }
}
