import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

@testable import CrashConverter

/// A deploy replaces the binary between a crash and the next start, so this version processes and
/// reads what the version before it left.
///
/// `VersionBefore/dumps` has three runs of crash-lab as they were left in the pending directory, with
/// their run records (whose boot ID was replaced, so that the owners are dead wherever the test
/// runs): one told all that a program can tell, one died of a C++ exception on a task, one was killed.
/// `VersionBefore/reports` is the database that the version before made of the first two, and of
/// another run that was killed. The minidumps there have that version's own streams, 0x504D0001 and
/// 0x504D0002.
@Suite struct VersionBeforeTests {
  private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("VersionBefore").path
  private static let teller = ReportID("11c27604-29f7-4ab7-8af5-6b17678b1192")!
  private static let thrower = ReportID("de2367f9-eaff-4ee6-8bc8-4d5c006e578f")!
  private static let killed = ReportID("e9753129-96fa-48c6-8779-2724bf3bfb10")!
  private static let killedBefore = ReportID("fb85b126-8837-4ead-a919-d8bd2e78c1c2")!

  private let database: PendingDatabase

  init() throws {
    database = try PendingDatabase()
  }

  private static func names(in directory: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "\(Self.directory)/\(directory)").sorted()
  }

  private static func bytes(_ path: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(path)")))
  }

  private func putDumps() throws {
    for name in try Self.names(in: "dumps") { try database.put(Self.bytes("dumps/\(name)"), name) }
  }

  private func putReports() throws {
    // Makes the directories.
    _ = try CrashReportDatabase(path: database.path)
    let reports = "\(Self.directory)/reports"
    for name in try #require(FileManager.default.subpaths(atPath: reports)) {
      let target = "\(database.path)/\(name)"
      let isDirectory =
        try FileManager.default.attributesOfItem(atPath: "\(reports)/\(name)")[.type]
        as? FileAttributeType == .typeDirectory
      if isDirectory {
        try FileManager.default.createDirectory(
          atPath: target, withIntermediateDirectories: true,
          attributes: [.posixPermissions: 0o700])
      } else {
        try Data(Self.bytes("reports/\(name)")).write(to: URL(fileURLWithPath: target))
      }
    }
  }

  private func snapshot(_ id: ReportID) throws -> ProcessSnapshot {
    let report = try #require(try database.reports.first { $0.id == id })
    return try MinidumpReader.snapshot(
      of: Array(Data(contentsOf: URL(fileURLWithPath: report.path))))
  }

  /// What a dump tells, with what its conversion added to a report.
  private func expected(_ name: String, like report: ProcessSnapshot) throws -> ProcessSnapshot {
    let bytes = try Self.bytes("dumps/\(name)")
    var snapshot = ProcessSnapshot(reading: try IntermediateDumpDocument(parsing: bytes))
    snapshot.dumpDigest = DumpIdentity(of: DumpBytes(bytes)).digest
    snapshot.clientID = report.clientID
    snapshot.storedSymbols = report.storedSymbols
    snapshot.client.attachments = report.client.attachments
    snapshot.client.userStreamFailures = report.client.userStreamFailures
    return snapshot
  }

  private static let dumps: [(ReportID, String)] = [
    (teller, "teller@\(teller)"), (thrower, "crash-lab@\(thrower)"),
  ]

  @Test func dumpsAndRunRecordsAreProcessed() throws {
    try putDumps()
    let processed = try processIntermediateDumps(database: database.path, storingSymbols: false)
    #expect(Set(processed.map(\.reportID)) == [Self.teller, Self.thrower, Self.killed])
    for dump in processed where dump.reportID != Self.killed { #expect(dump.outcome == .complete) }
    #expect(database.names.isEmpty)
    for (id, name) in Self.dumps {
      let report = try snapshot(id)
      #expect(report == (try expected(name, like: report)))
    }
    let end = try #require(try snapshot(Self.killed).end)
    #expect(end.kind == .rebooted && end.certainty == .possible)
    #expect(try snapshot(Self.killed).process.product == "CrashLab")
  }

  @Test func itsReportsAreRead() throws {
    try putReports()
    for (id, name) in Self.dumps {
      var report = try snapshot(id)
      #expect(report.clientID == (try CrashReportDatabase(path: database.path).clientID()))
      var expected = try expected(name, like: report)
      #expect(report.annotations == expected.annotations)
      // Those reports do not tell which were given at launch.
      (report.launchAnnotations, expected.launchAnnotations) = ([:], [:])
      // Nor where the segments of modules lie.
      for index in expected.modules.indices { expected.modules[index].segments = [] }
      // That version took another digest.
      let dump = DumpIdentity(of: DumpBytes(try Self.bytes("dumps/\(name)")))
      #expect(report.dumpDigest != dump.digest && dump.matches(report.dumpDigest))
      (report.dumpDigest, expected.dumpDigest) = (nil, nil)
      #expect(report == expected)
    }
    let told = try snapshot(Self.teller)
    #expect(told.client.attachments.map(\.size) == [10, nil, 11])
    #expect(told.client.userStreamFailures.count == 2)
    #expect(told.client.breadcrumbs.count == 128)
    #expect(told.annotations["tenant"] == "acme" && told.annotations["connections"] == "-17")
    let thrown = try snapshot(Self.thrower)
    #expect(thrown.cxxException?.typeName == "St13runtime_error")
    #expect(thrown.tasks.count == 1)
    #expect(
      thrown.storedSymbols?.functions.values.joined()
        .contains { $0.linkageName == "crash_cxx_exception" && $0.line == 63 } == true)
    let end = try #require(try snapshot(Self.killedBefore).end)
    #expect(end.kind == .unexplained && end.certainty == .possible && end.evidence.count > 3)
  }

  @Test func aConversionThatItsEndCutOffIsFinished() throws {
    try putReports()
    try putDumps()
    let processed = try processIntermediateDumps(database: database.path, storingSymbols: false)
    #expect(Set(processed.map(\.reportID)) == [Self.teller, Self.thrower, Self.killed])
    #expect(database.names.isEmpty)
    #expect(
      Set(try database.reports.map(\.id))
        == [Self.teller, Self.thrower, Self.killed, Self.killedBefore])
    // Its own reports stand for their dumps still.
    #expect(try snapshot(Self.thrower).storedSymbols != nil)
    let recent = try recentCrashes(database: database.path, identifier: "crash-lab")
    #expect(recent.map(\.reportID) == [Self.thrower])
    #expect(recent.map(\.signal) == [6])
  }
}
