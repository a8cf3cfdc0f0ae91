import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import ProcessSnapshot
import Testing

@Suite struct ConversionTests {
  private let dumps: PendingDatabase

  init() throws {
    dumps = try PendingDatabase()
  }

  @Test func aDumpBecomesAReport() throws {
    let id = try dumps.putDump()
    try dumps.put([1], "app@\(id).run")
    try #require(unsafe mkfifo(dumps.path(of: "app@\(id).fifo"), 0o600) == 0)
    let processed = try processIntermediateDumps(
      database: dumps.path, annotations: ["both": "caller", "new": "2"])
    #expect(processed.map(\.reportID) == [id])
    #expect(processed.map(\.outcome) == [.complete])
    let summary = try #require(processed.first?.summary)
    #expect(summary.signal == 11 && summary.signature?.hasPrefix("SIGSEGV") == true)
    let line = try #require(processed.first?.description)
    #expect(line.hasPrefix("product: SIGSEGV ") && line.tellsReport(id), "\(line)")
    #expect(line.utf8.count < 100 && !line.contains(id.description), "\(line)")
    #expect(dumps.names.isEmpty)
    let report = try #require(try dumps.reports.first)
    #expect(report.id == id && report.state == .pending)
    let bytes = try #require(FileManager.default.contents(atPath: report.path))
    let snapshot = try MinidumpReader.snapshot(of: Array(bytes))
    #expect(snapshot.reportID == id)
    #expect(snapshot.clientID == (try CrashReportDatabase(path: dumps.path).clientID()))
    #expect(snapshot.annotations["dump"] == "1")
    #expect(snapshot.annotations["both"] == "caller")
    #expect(snapshot.annotations["new"] == "2")
    #expect(snapshot.process.processID == 4242)
    #expect(snapshot.exception?.signal == 11)
    #expect(try processIntermediateDumps(database: dumps.path).isEmpty)
  }

  @Test func aTornDumpIsKeptAsFarAsItGoes() throws {
    let id = try dumps.putDump(Array(PendingDatabase.complete.dropLast(60)))
    let outcome = try #require(try processIntermediateDumps(database: dumps.path).first?.outcome)
    #expect(outcome.kind == .torn)
    #expect(outcome.reason.contains("at byte"))
    let report = try #require(try dumps.reports.first)
    let bytes = try #require(FileManager.default.contents(atPath: report.path))
    let snapshot = try MinidumpReader.snapshot(of: Array(bytes))
    #expect(report.id == id)
    #expect(!snapshot.capture.isComplete)
    #expect(snapshot.exception?.signal == 11)
  }

  @Test func theThirdFailureIsQuarantineAndStopsNobodyElse() throws {
    let garbage = Array("no dump at all, but long enough for a header".utf8)
    let bad = try dumps.putDump(garbage, age: 100)
    try dumps.put([7], "app@\(bad).run")
    for attempt in 1...3 {
      let good = try dumps.putDump()
      let processed = try processIntermediateDumps(database: dumps.path, identifier: "app")
      #expect(processed.map(\.reportID) == [bad, good])
      #expect(processed.last?.outcome == .complete)
      let outcome = processed.first?.outcome
      #expect(outcome?.kind == (attempt < 3 ? .failed : .quarantined), "\(attempt): \(processed)")
      #expect(outcome?.reason.contains("magic") == true)
    }
    #expect(try processIntermediateDumps(database: dumps.path, identifier: "app").isEmpty)
    #expect(dumps.names.isEmpty)
    #expect(
      dumps.directory.names("quarantine")
        == ["app@\(bad)", "app@\(bad).reason", "app@\(bad).run"])
    #expect(dumps.directory.bytes("quarantine/app@\(bad)") == garbage)
    let reason = try #require(dumps.directory.bytes("quarantine/app@\(bad).reason"))
    #expect(String(decoding: reason, as: UTF8.self).contains("magic"))
    #expect(try dumps.directory.permissions("quarantine") == 0o700)
  }

  @Test func aSecondFileOfTheSameNameInQuarantineReplacesNothing() throws {
    let bad = try dumps.putDump([1, 2, 3])
    for _ in 1...3 { _ = try processIntermediateDumps(database: dumps.path) }
    try dumps.put([4, 5, 6], "app@\(bad)")
    for _ in 1...3 { _ = try processIntermediateDumps(database: dumps.path) }
    #expect(dumps.directory.bytes("quarantine/app@\(bad)") == [1, 2, 3])
    #expect(dumps.directory.bytes("quarantine/app@\(bad).2") == [4, 5, 6])
  }

  @Test func whatAKilledConverterLeftInQuarantineIsTakenOver() throws {
    let bad = try dumps.putDump([1, 2, 3])
    try FileManager.default.createDirectory(
      atPath: dumps.path + "/quarantine", withIntermediateDirectories: true)
    // One converter was killed while it wrote the reason, another one after that.
    let names = ["app@\(bad).reason", "app@\(bad).reason.1.tmp"]
    for name in names { try dumps.directory.put([0x78], "quarantine/" + name) }
    for _ in 1...3 { _ = try processIntermediateDumps(database: dumps.path) }
    #expect(dumps.directory.names("quarantine") == ["app@\(bad)", "app@\(bad).reason"])
    #expect(dumps.directory.bytes("quarantine/app@\(bad).reason") != [0x78])
  }

  @Test func aFailureOfTheMachineIsNoFailureOfTheDump() throws {
    let id = try dumps.putDump()
    _ = try CrashReportDatabase(path: dumps.path)
    let inTheWay = dumps.path + "/pending/\(id).dmp"
    try #require(unsafe mkdir(inTheWay, 0o700) == 0)
    for _ in 1...5 {
      let outcome = try processIntermediateDumps(database: dumps.path).first?.outcome
      #expect(outcome?.kind == .failed)
    }
    try #require(unsafe rmdir(inTheWay) == 0)
    #expect(try processIntermediateDumps(database: dumps.path).map(\.outcome) == [.complete])
    #expect(try dumps.reports.map(\.id) == [id])
  }

  @Test(arguments: ["pending", "completed"])
  func aDumpWhoseReportIsThereIsOnlyRemoved(state: String) throws {
    let id = try dumps.putDump()
    #expect(try processIntermediateDumps(database: dumps.path).map(\.outcome) == [.complete])
    for suffix in ["dmp", "meta"] where state == "completed" {
      try FileManager.default.moveItem(
        atPath: "\(dumps.path)/pending/\(id).\(suffix)",
        toPath: "\(dumps.path)/completed/\(id).\(suffix)")
    }
    try dumps.put(PendingDatabase.complete, "app@\(id)")
    #expect(try processIntermediateDumps(database: dumps.path).map(\.reportID) == [id])
    #expect(dumps.names.isEmpty)
    #expect(try dumps.reports.map(\.id) == [id])
  }

  @Test func aReportHalfWrittenByADeadConverterIsWrittenAgain() throws {
    let id = try dumps.putDump()
    _ = try CrashReportDatabase(path: dumps.path)
    try dumps.directory.put([9], "new/\(id).dmp")
    #expect(try processIntermediateDumps(database: dumps.path).map(\.outcome) == [.complete])
    #expect(try dumps.reports.map(\.state) == [.pending])
    #expect(try dumps.reports.allSatisfy { $0.size > 4096 })
  }

  @Test func onesOwnDumpsComeFirstAndOthersAreLimited() throws {
    let others = try (0..<5).map { try dumps.putDump(identifier: "other", age: 1000 - Double($0)) }
    let own = try (0..<3).map { try dumps.putDump(age: 100 - Double($0)) }
    let processed = try processIntermediateDumps(
      database: dumps.path, identifier: "app", limit: 2)
    #expect(processed.map(\.reportID) == own + others.prefix(2))
    #expect(dumps.names.count == 3)
    #expect(
      try processIntermediateDumps(database: dumps.path, identifier: "app", limit: 0).isEmpty)
    #expect(try processIntermediateDumps(database: dumps.path).map(\.reportID) == others.suffix(3))
  }

  @Test func whatIsNoDumpIsLeftAlone() throws {
    let outside = try SharedDirectory()
    try outside.put(PendingDatabase.complete, "dump")
    let names = [
      "app@\(ReportID())\n", "a b@\(ReportID())", "app@\(ReportID()).lock", "\(ReportID())",
      "app@\(ReportID()).1-2-3.claimed", "README", ".hidden",
    ]
    for name in names { try dumps.put(PendingDatabase.complete, name) }
    try #require(unsafe mkfifo(dumps.path(of: "app@\(ReportID())"), 0o600) == 0)
    try #require(unsafe mkfifo(dumps.path(of: "app@\(ReportID()).locked"), 0o600) == 0)
    try #require(unsafe mkdir(dumps.path(of: "app@\(ReportID())"), 0o700) == 0)
    try #require(
      unsafe symlink(outside.path + "/dump", dumps.path(of: "app@\(ReportID())")) == 0)
    let before = dumps.names
    #expect(try processIntermediateDumps(database: dumps.path, identifier: "app").isEmpty)
    #expect(dumps.names == before)
    #expect(try dumps.reports.isEmpty)
    #expect(outside.names() == ["dump"])
  }

  @Test func aDumpThatIsNamedByItsPathBecomesAReport() throws {
    let id = ReportID()
    let dump = try #require(
      IntermediateDumpEncoding.encode { writer in
        writer.header()
        writer.startMap(.process)
        writer.text(.identifier, "app")
        writer.bytes(.reportID, id.bytes)
        writer.end()
        _ = writer.endDocument()
      })
    for path in ["\(dumps.path)/elsewhere", dumps.path(of: "app@\(id)")] {
      try Data(dump).write(to: URL(fileURLWithPath: path))
      let processed = try processIntermediateDump(at: path, database: dumps.path)
      #expect(processed?.outcome == .complete, "\(path)")
      #expect(processed?.reportID == id)
      #expect(dumps.names.isEmpty && !FileManager.default.fileExists(atPath: path))
    }
    #expect(try dumps.reports.map(\.id) == [id])
  }

  @Test func aFileThatIsTooLargeIsNotRead() throws {
    let id = try dumps.putDump([])
    try #require(unsafe truncate(dumps.path(of: "app@\(id)"), 513 << 20) == 0)
    let outcome = try processIntermediateDumps(database: dumps.path).first?.outcome
    #expect(outcome?.kind == .failed)
    #expect(outcome?.reason.contains("too large") == true)
  }

  @Test func aDatabaseThatCannotBeUsedIsAnError() throws {
    try dumps.directory.put([], "file")
    #expect {
      try processIntermediateDumps(database: dumps.path + "/file")
    } throws: {
      ($0 as? CrashConverterError)?.code == .databaseUnusable
    }
    try FileManager.default.removeItem(atPath: dumps.path + "/pending-serialized-dumps")
    try dumps.directory.put([], "pending-serialized-dumps")
    #expect {
      try processIntermediateDumps(database: dumps.path)
    } throws: {
      ($0 as? CrashConverterError)?.code == .pendingDirectoryUnusable
    }
  }

  @Test func aLogLineIsOneLine() throws {
    let dump = ProcessedDump.Outcome.failed("a\nb\u{1B}[2J\r")
    let id = try dumps.putDump([1])
    let processed = try #require(try processIntermediateDumps(database: dumps.path).first)
    #expect(processed.reportID == id)
    #expect(!"\(processed)".contains { $0.isNewline })
    #expect(dump != processed.outcome)
  }
}
