import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Testing

@testable import CrashConverter

/// Locked files of owners that really live or are really dead.
@Suite struct LockedFileTests {
  private let dumps: PendingDumps
  private let host = HostIdentity.current()

  init() throws {
    dumps = try PendingDumps()
  }

  /// Puts the run record of a process that lives now.
  private func putRecord(_ id: ReportID, of processID: UInt32) throws {
    guard case .found(let process) = ProcessProbe.look(at: processID) else {
      throw CocoaError(.featureUnsupported)
    }
    try dumps.putRecord(
      id, processID: processID, startTime: process.startTime, stackStart: process.stackStart,
      bootID: try #require(host.bootID), namespace: try #require(host.processNamespace))
  }

  private func process() throws -> [ProcessedDump.Outcome] {
    try processIntermediateDumps(database: dumps.path, identifier: "app").map(\.outcome)
  }

  @Test func onesOwnAndALiveOwnersFileIsLeftAlone() throws {
    let own = try dumps.putDump(suffix: ".locked")
    try putRecord(own, of: UInt32(getpid()))
    let racer = try Racer(database: dumps.path)
    let id = try dumps.putDump(suffix: ".locked")
    try putRecord(id, of: racer.processID)
    let before = dumps.names
    #expect(try process().isEmpty)
    #expect(dumps.names == before)
    racer.kill()
    _ = try racer.lines()
    #expect(try process() == [.complete])
    #expect(dumps.names == ["app@\(own).locked", "app@\(own).run"])
    #expect(try dumps.reports.map(\.id) == [id])
  }

  @Test func aZombieIsDead() throws {
    var processID: pid_t = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [strdup("true"), nil]
    defer { unsafe free(arguments[0]) }
    try #require(
      unsafe posix_spawn(&processID, "/bin/true", nil, nil, &arguments, nil) == 0)
    defer { waitpid(processID, nil, 0) }
    let id = try dumps.putDump(Array(PendingDumps.complete.dropLast()), suffix: ".locked")
    try putRecord(id, of: UInt32(processID))
    // WNOWAIT: until it has ended, and without collecting it.
    var information = unsafe siginfo_t()
    let waited = unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT)
    try #require(waited == 0)
    guard case .torn? = try process().first else {
      Issue.record("a zombie's dump was not taken")
      return
    }
    #expect(dumps.names.isEmpty)
  }

  @Test func anEmptyFileOfADeadOwnerIsRemovedAndNotReported() throws {
    let id = try dumps.putDump([], suffix: ".locked")
    try dumps.putRecord(
      id, processID: 1, startTime: 12345, bootID: "another boot", namespace: 1)
    try #require(unsafe mkfifo(dumps.path(of: "app@\(id).fifo"), 0o600) == 0)
    #expect(try process().isEmpty)
    #expect(dumps.names.isEmpty)
    #expect(try dumps.reports.isEmpty)
  }

  @Test func aFIFOTellsWhereTheProcessCannotBeSeen() throws {
    let id = try dumps.putDump(suffix: ".locked")
    try dumps.putRecord(
      id, processID: 1, startTime: 12345, bootID: try #require(host.bootID), namespace: 1)
    let fifo = dumps.path(of: "app@\(id).fifo")
    try #require(unsafe mkfifo(fifo, 0o600) == 0)
    let end = unsafe open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(end >= 0)
    #expect(try process().isEmpty)
    #expect(dumps.names.count == 3)
    close(end)
    #expect(try process() == [.complete])
    #expect(dumps.names.isEmpty)
  }

  @Test func withoutEvidenceADayIsWaitedForOnesOwnAndSixtyForOthers() throws {
    let day: TimeInterval = 24 * 3600
    for (identifier, age, isTaken) in [
      ("app", day - 600, false), ("app", day + 600, true), ("other", 60 * day - 600, false),
      ("other", 60 * day + 600, true),
    ] {
      let id = try dumps.putDump(identifier: identifier, suffix: ".locked", age: age)
      #expect(try process() == (isTaken ? [.complete] : []), "\(identifier) \(age)")
      if !isTaken {
        try FileManager.default.removeItem(atPath: dumps.path(of: "\(identifier)@\(id).locked"))
      }
    }
  }

  @Test func aDamagedRecordIsNoEvidence() throws {
    let id = try dumps.putDump(suffix: ".locked")
    for bytes in [[], [1, 2, 3], PendingDumps.complete, Array(repeating: 0, count: 100_000)]
      as [[UInt8]]
    {
      try dumps.put(bytes, "app@\(id).run")
      #expect(try process().isEmpty)
    }
    try FileManager.default.removeItem(atPath: dumps.path(of: "app@\(id).run"))
    try #require(unsafe symlink("/dev/zero", dumps.path(of: "app@\(id).run")) == 0)
    #expect(try process().isEmpty)
    #expect(dumps.names.count == 2)
  }

  @Test func aProcessWhoseMainThreadHasEndedLives() throws {
    let racer = try Racer(database: dumps.path, identifier: "--end-main-thread")
    // The racer writes a line once its main thread has ended, and lives on until it is let go.
    #expect(try racer.firstLine() == "main thread ended")
    guard case .found(let found) = ProcessProbe.look(at: racer.processID) else {
      Issue.record("/proc does not show process \(racer.processID)")
      return
    }
    #expect(found.state == UInt8(ascii: "Z"))
    #expect(found.threadCount > 1)
    #expect(!found.hasEnded)
    let id = try dumps.putDump(suffix: ".locked")
    try putRecord(id, of: racer.processID)
    #expect(try process().isEmpty)
    try racer.letGo()
    _ = try racer.lines()
    #expect(try process() == [.complete])
  }
}
