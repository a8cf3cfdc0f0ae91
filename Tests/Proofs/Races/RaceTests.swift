import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

@Suite struct RaceTests {
  private let dumps: PendingDatabase

  init() throws {
    dumps = try PendingDatabase()
  }

  /// Checks that every dump became one whole report, and that no other files are left.
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
    #expect(dumps.directory.names("quarantine").isEmpty)
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
    // A thread that finds another thread converting a dump reports that.
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
    #expect(lines.allSatisfy { $0.tellsAWholeDump }, "\(lines)")
    #expect(ids.allSatisfy { id in lines.count { $0.tellsReport(id) } == 1 }, "\(lines)")
    #expect(lines.count == ids.count)
    try checkReports(of: ids)
  }

  @Test func killedConvertersLoseNothingAndDoubleNothing() throws {
    let ids = try (0..<40).map { _ in try dumps.putDump() }
    // However far each converter gets before it is killed, the next one continues from there.
    for delay in 0..<9 {
      let racer = try Racer(database: dumps.path)
      try racer.letGo()
      usleep(UInt32(5000 + 4000 * delay))
      racer.kill()
      _ = try racer.lines()
    }
    _ = try processIntermediateDumps(database: dumps.path, identifier: "app")
    // A dump that ended two converters is quarantined, not lost.
    for name in dumps.directory.names("quarantine") where PendingDumpName(fileName: name) != nil {
      try FileManager.default.moveItem(
        atPath: "\(dumps.path)/quarantine/\(name)", toPath: dumps.path(of: name))
      try FileManager.default.removeItem(atPath: "\(dumps.path)/quarantine/\(name).reason")
    }
    _ = try processIntermediateDumps(database: dumps.path, identifier: "app")
    // A killed converter may have left a half-written report, which does not count as a report.
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
    try dumps.put(PendingDatabase.complete, claim)
    let left = try processIntermediateDumps(database: dumps.path, identifier: "app")
    #expect(
      left.map(\.outcome)
        == [.left("converter \(racer.processID) is working on it", until: nil)])
    #expect(dumps.names == [claim])
    racer.kill()
    _ = try racer.lines()
    #expect(
      try processIntermediateDumps(database: dumps.path, identifier: "app").map(\.outcome)
        == [.complete])
    try checkReports(of: [id])
  }

  /// The name of a claim that a live process on this machine holds.
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
    let dead = try Racer(database: dumps.path)
    dead.kill()
    _ = try dead.lines()
    // The claim was given back after a failure, or left by a converter that ended.
    for (attempt, isGivenBack, isTaken) in [
      (1, true, true), (2, true, true), (3, true, false), (1, false, true), (2, false, false),
      (.max, true, false),
    ] as [(UInt32, Bool, Bool)] {
      let host = HostIdentity.current()
      let role = PendingDumpName.Role.claimed(
        attempt: attempt, processID: isGivenBack ? 0 : dead.processID, startTime: 0,
        place: isGivenBack ? 0 : host.place)
      let name = try #require(PendingDumpName(identifier: "app", reportID: id, role: role))
      // A dump that must be quarantined has other contents than the converted ones: for the same contents, the
      // converter would use the existing report.
      try dumps.put(PendingDatabase.complete + (isTaken ? [] : [0]), name.description)
      let outcome = try processIntermediateDumps(database: dumps.path).first?.outcome
      if isTaken {
        #expect(outcome == .complete, "\(attempt) \(isGivenBack)")
      } else {
        #expect(outcome?.kind == .quarantined, "\(attempt) \(isGivenBack)")
        #expect(outcome?.reason.contains("not read again") == true)
      }
    }
    #expect(
      dumps.directory.names("quarantine").filter { !$0.hasSuffix(".reason") }
        == ["app@\(id)", "app@\(id).2", "app@\(id).3"])
  }
}
