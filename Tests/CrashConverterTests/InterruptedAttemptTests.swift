import CrashReportDatabase
import CrashTestSupport
import IntermediateDump
import PendingDumps
import Testing

@testable import CrashConverter

/// A program in a crash loop starts to convert the previous dump at each start, and is interrupted by its crash.
@Suite struct InterruptedAttemptTests {
  /// The thread of the exception in `PendingDatabase.complete`.
  private static let crashed: UInt32 = 4242

  private let dumps: PendingDatabase
  private let host = HostIdentity.current()

  init() throws {
    dumps = try PendingDatabase()
  }

  /// Adds a dump whose converter ended during its attempt, and is no longer visible.
  private func putClaimed(attempt: UInt32, thread: UInt32) throws -> ReportID {
    let id = ReportID()
    let role = PendingDumpName.Role.claimed(
      attempt: attempt, processID: 77, startTime: 99, place: 1,
      witness: PendingDumpName.Witness(boot: host.boot, number: 1, thread: thread))
    let name = try #require(PendingDumpName(identifier: "app", reportID: id, role: role))
    try dumps.put(PendingDatabase.complete, name.description, age: 10)
    return id
  }

  /// Adds the dump of the converter's own crash.
  private func putCrash(of processID: UInt32 = 77, startTime: UInt64 = 99) throws -> ReportID {
    let id = try dumps.putDump()
    try dumps.putRecord(
      id, processID: processID, startTime: startTime, bootID: host.bootID ?? "", namespace: 1)
    return id
  }

  private func outcomes() throws -> [ReportID: ProcessedDump.Outcome] {
    let processed = try processIntermediateDumps(database: dumps.path, identifier: "app")
    return Dictionary(uniqueKeysWithValues: processed.map { ($0.reportID, $0.outcome) })
  }

  @Test(arguments: [2, 3, 1000] as [UInt32])
  func aCrashOnAnotherThreadSetsNothingAside(_ attempt: UInt32) throws {
    let id = try putClaimed(attempt: attempt, thread: Self.crashed + 1)
    let crash = try putCrash()
    #expect(try outcomes() == [id: .complete, crash: .complete])
    #expect(dumps.names == [])
  }

  @Test func aCrashOfTheThreadThatConvertedDoes() throws {
    let id = try putClaimed(attempt: 2, thread: Self.crashed)
    _ = try putCrash()
    #expect(try isQuarantined(outcomes()[id]))
  }

  @Test(arguments: [(78, 99), (77, 98)] as [(UInt32, UInt64)])
  func soDoesAnEndThatIsNotKnown(processID: UInt32, startTime: UInt64) throws {
    let id = try putClaimed(attempt: 2, thread: Self.crashed + 1)
    _ = try putCrash(of: processID, startTime: startTime)
    #expect(try isQuarantined(outcomes()[id]))
  }

  @Test func anInterruptedAttemptDoesNotCount() throws {
    let pending = try PendingDirectory(database: Directory(path: dumps.path), identifier: "app")
    let id = try putClaimed(attempt: 2, thread: Self.crashed + 1)
    _ = try putCrash()
    let file = try #require(
      pending.files().first {
        if case .claimed = $0.name.role { $0.name.reportID == id } else { false }
      })
    guard case .taken(let claim) = try pending.claim(file) else {
      Issue.record("not taken")
      return
    }
    #expect(claim.attempt == 2 && !claim.isSetAside && !claim.isHarmless)
  }

  @Test(arguments: [true, false])
  func nothingIsSetAsideThatHasItsReport(isSame: Bool) throws {
    let id = try dumps.putDump()
    #expect(try outcomes() == [id: .complete])
    let role = PendingDumpName.Role.claimed(
      attempt: 2, processID: 77, startTime: 99, place: 1,
      witness: PendingDumpName.Witness(boot: host.boot, number: 1))
    let name = try #require(PendingDumpName(identifier: "app", reportID: id, role: role))
    try dumps.put(PendingDatabase.complete + (isSame ? [] : [0]), name.description)
    let outcome = try outcomes()[id]
    #expect(isSame ? outcome == nil : isQuarantined(outcome))
    #expect(dumps.names == [])
    #expect(dumps.directory.names("quarantine").isEmpty == isSame)
    #expect(try dumps.reports.map(\.id) == [id])
  }

  private func isQuarantined(_ outcome: ProcessedDump.Outcome?) -> Bool {
    outcome?.kind == .quarantined
  }
}
