import CrashConverter
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

/// Files in a pending directory that no part of this package writes.
@Suite struct BadInputTests {
  private let dumps: PendingDatabase

  init() throws {
    dumps = try PendingDatabase(inMemory: true)
  }

  @Test func fiveHundredDumpsAtAStart() throws {
    let ids = try (0..<500).map { try dumps.putDump(age: TimeInterval(1000 - $0)) }
    let others = try (0..<30).map { index in
      try dumps.putDump(identifier: "other", age: TimeInterval(5000 - index))
    }
    var progress: [Int] = []
    let processed = try processIntermediateDumps(
      database: dumps.path, identifier: "app",
      progress: { done, count in
        progress.append(done)
        #expect(count == 530)
      })
    #expect(processed.map(\.reportID) == ids + others.prefix(20))
    #expect(processed.allSatisfy { $0.outcome == .complete })
    #expect(progress.prefix(520) == Array(1...520)[...])
    #expect(try dumps.reports.count == 520)
    #expect(dumps.names.count == 10)
  }

  @Test func emptyLeftoversDoNotCount() throws {
    for index in 0..<50 {
      let id = try dumps.putDump(
        [], identifier: "other", suffix: ".locked", age: TimeInterval(9000 - index))
      try dumps.putRecord(
        id, identifier: "other", processID: 1, startTime: 1, bootID: "earlier", namespace: 1)
    }
    let others = try (0..<3).map { _ in try dumps.putDump(identifier: "other") }
    let processed = try processIntermediateDumps(
      database: dumps.path, identifier: "app", limit: 3)
    #expect(processed.map(\.reportID).sorted() == others.sorted())
    #expect(dumps.names.isEmpty)
  }

  @Test(arguments: [IntermediateDumpToken.startMap, IntermediateDumpToken.startArray])
  func nestingTenThousandDeep(token: UInt8) throws {
    let header = Array(PendingDatabase.complete.prefix(IntermediateDumpFormat.headerSize))
    try dumps.putDump(header + (0..<10_000).flatMap { _ in [token, 0x64, 0x00] })
    try expectTorn()
  }

  /// `LongDumpTests` in `Tests/Proofs` has ten million keys.
  @Test func aHundredThousandKeys() throws {
    let header = Array(PendingDatabase.complete.prefix(IntermediateDumpFormat.headerSize))
    // 65,536 keys with empty properties, twice.
    var keys: [UInt8] = []
    for key in UInt16.min...UInt16.max {
      keys += [
        IntermediateDumpToken.property, UInt8(truncatingIfNeeded: key), UInt8(key >> 8), 0, 0, 0, 0,
      ]
    }
    try dumps.putDump(header + (0..<2).flatMap { _ in keys })
    try expectTorn()
  }

  private func expectTorn() throws {
    let outcomes = try processIntermediateDumps(database: dumps.path).map(\.outcome)
    #expect(outcomes.map(\.kind) == [.torn])
    #expect(outcomes.allSatisfy { $0.reason.contains("at byte") })
    #expect(try dumps.reports.count == 1)
  }

  @Test func namesThatAreNotUTF8OrLeadElsewhere() throws {
    let id = ReportID()
    for name in ["..@\(id)", "a..@\(id)", ".@\(id)"] {
      try dumps.put(PendingDatabase.complete, name)
    }
    let directory = dumps.path(of: "").utf8.map { CChar(bitPattern: $0) }
    let notUTF8 = directory + [-1, -2] + "@\(ReportID())".utf8.map { CChar(bitPattern: $0) } + [0]
    let descriptor = unsafe open(notUTF8, O_CREAT | O_WRONLY, 0o600)
    try #require(descriptor >= 0)
    close(descriptor)
    // An identifier cannot consist of dots only; dots within one are no path.
    #expect(
      try processIntermediateDumps(database: dumps.path).map(\.fileName) == ["a..@\(id)"])
    #expect(dumps.names.count == 3)
    #expect(try dumps.reports.count == 1)
  }
}
