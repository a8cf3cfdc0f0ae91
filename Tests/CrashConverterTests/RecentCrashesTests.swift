import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import Testing

@Suite struct RecentCrashesTests {
  private let directory: SharedDirectory
  private var database: String { directory.path + "/db" }

  init() throws {
    directory = try SharedDirectory()
  }

  @Test func crashesOfOneProgramAreCountedBeforeAndAfterProcessing() throws {
    let name = "HandlerOnlyVictim"
    #expect(try recentCrashes(database: database, identifier: name) == [])
    for deed in ["abort", "exit", "killed", "child-crashes", "abort"] {
      _ = try Racer(name, [database, deed]).lines()
    }
    let before = try recentCrashes(database: database, identifier: name)
    #expect(before.count == 3)
    #expect(before.map(\.crashTime) == before.map(\.crashTime).sorted(by: >))
    #expect(before.allSatisfy { $0.signal == 6 })
    #expect(
      before.allSatisfy {
        (Duration.nanoseconds(1)...Duration.seconds(60)).contains($0.uptime ?? .zero)
      },
      "\(before)")
    #expect(Set(before.map(\.reportID)).count == 3)
    #expect(
      try recentCrashes(database: database, identifier: name, limit: 2) == Array(before.prefix(2)))
    // A program sees its own crashes and not those of others; then it converts all dumps.
    #expect(
      try Racer(processingItself: "abort", database: database).lines().contains("recent 0"))
    #expect(try Racer(processingItself: "exit", database: database).lines().contains("recent 1"))
    // There is also a report on the end of the killed run.
    let reports = try CrashReportDatabase(path: database).reports()
    #expect(reports.filter { $0.state == .pending }.count == 4)
    #expect(reports.filter { $0.state == .completed }.count == 1)
    #expect(try recentCrashes(database: database, identifier: name) == before)
    #expect(try recentCrashes(database: database, identifier: "crash-lab").count == 1)
  }

  @Test func aCrashThatIsBeingProcessedIsOneCrash() throws {
    _ = try Racer("HandlerOnlyVictim", [database, "abort"]).lines()
    let pending = "db/pending-serialized-dumps/"
    let name = try #require(
      directory.names(pending).compactMap(PendingDumpName.init(fileName:))
        .first { $0.role == .finished })
    let dump = try #require(directory.bytes(pending + name.description))
    let first = try recentCrashes(database: database, identifier: "HandlerOnlyVictim")
    #expect(first.count == 1)
    _ = try processIntermediateDumps(database: database)
    // The converter was killed before it could remove the dump.
    let claim = name.with(role: .claimed(attempt: 1, processID: 0, startTime: 0, place: 0))
    try directory.put(dump, pending + claim.description)
    #expect(try recentCrashes(database: database, identifier: "HandlerOnlyVictim") == first)
  }

  @Test func whatIsTornOrDamagedSaysWhatItCan() throws {
    let dumps = try PendingDatabase()
    func dump(_ body: (inout IntermediateDumpWriter) -> Void) throws -> [UInt8] {
      try #require(
        IntermediateDumpEncoding.encode { writer in
          writer.header()
          writer.startMap(.process)
          writer.text(.identifier, "app")
          writer.end()
          body(&writer)
        })
    }
    let torn = try dumps.putDump(
      dump {
        $0.startMap(.exception)
        $0.signed(.signalNumber, 11, width: 4)
      })
    // A dump without a crash, a dump truncated before its exception, a dump of another program, a file that is no
    // dump, and a file of a live owner.
    try dumps.putDump(dump { _ = $0.endDocument() })
    try dumps.putDump(dump { $0.startMap(.exception) })
    try dumps.putDump(PendingDatabase.complete)
    try dumps.putDump([1, 2, 3])
    try dumps.putDump(PendingDatabase.complete, suffix: ".locked")
    let crashes = try recentCrashes(database: dumps.path, identifier: "app")
    #expect(crashes.map(\.reportID) == [torn])
    #expect(crashes.first?.signal == 11)
    #expect(crashes.first?.uptime == nil)
    // Files that are no valid minidumps.
    _ = try CrashReportDatabase(path: dumps.path)
    for bytes in [[], Array("MDMP".utf8), Array(repeating: 0xFF, count: 100)] as [[UInt8]] {
      try dumps.directory.put(bytes, "pending/\(ReportID()).dmp")
    }
    #expect(try recentCrashes(database: dumps.path, identifier: "app") == crashes)
  }
}
