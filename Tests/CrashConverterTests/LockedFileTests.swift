import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import PendingDumps
import Testing

@testable import CrashConverter

/// Locked files whose owners really live or are really dead.
@Suite struct LockedFileTests {
  private let dumps: PendingDatabase
  private let host = HostIdentity.current()

  init() throws {
    dumps = try PendingDatabase()
  }

  /// Adds the run record of a process that lives now.
  private func putRecord(_ id: ReportID, of processID: UInt32) throws {
    guard case .found(let process) = ProcessProbe.look(at: processID) else {
      throw CocoaError(.featureUnsupported)
    }
    try dumps.putRecord(
      id, processID: processID, startTime: process.startTime, stackStart: process.stackStart,
      bootID: try #require(host.bootID), namespace: try #require(host.processNamespace))
  }

  /// The outcomes of a conversion, without the dumps that were left.
  private func process() throws -> [ProcessedDump.Outcome] {
    try processAll().filter { $0.kind != .left }
  }

  private func processAll() throws -> [ProcessedDump.Outcome] {
    try processIntermediateDumps(database: dumps.path, identifier: "app").map(\.outcome)
  }

  @Test func onesOwnAndALiveOwnersFileIsLeftAlone() throws {
    let own = try dumps.putDump(suffix: ".locked")
    try putRecord(own, of: UInt32(getpid()))
    let racer = try Racer(database: dumps.path)
    let id = try dumps.putDump(suffix: ".locked")
    try putRecord(id, of: racer.processID)
    let before = dumps.names
    let why = "its owner may still write to it: process"
    #expect(
      Set(try processAll().map { "\($0)" }) == [
        "\(ProcessedDump.Outcome.left("\(why) \(getpid()) runs", until: nil))",
        "\(ProcessedDump.Outcome.left("\(why) \(racer.processID) runs", until: nil))",
      ])
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
    let id = try dumps.putDump(Array(PendingDatabase.complete.dropLast()), suffix: ".locked")
    try putRecord(id, of: UInt32(processID))
    // WNOWAIT waits until the process has ended, without collecting it.
    var information = unsafe siginfo_t()
    let waited = unsafe waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT)
    try #require(waited == 0)
    guard try process().first?.kind == .torn else {
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

  /// Adds the files of an owner that was killed before it created its dump.
  private func putDeadStart() throws -> ReportID {
    let id = ReportID()
    try dumps.putRecord(
      id, processID: 1, startTime: 12345, bootID: "another boot", namespace: 1)
    try #require(unsafe mkfifo(dumps.path(of: "app@\(id).fifo"), 0o600) == 0)
    return id
  }

  /// Such an owner is still starting when the files are listed, and is killed before the cleanup.
  @Test func aRecordAndFIFOThatWereListedBeforeTheirDumpStayForIt() throws {
    let id = try putDeadStart()
    try dumps.putDump()
    _ = try processIntermediateDumps(database: dumps.path, identifier: "app") { _, _ in
      try? dumps.put(PendingDatabase.complete, "app@\(id).locked")
    }
    #expect(dumps.names == ["app@\(id).fifo", "app@\(id).locked", "app@\(id).run"])
    #expect(try process() == [.complete])
    #expect(dumps.names.isEmpty)
  }

  @Test func aRecordAndFIFOOfADeadStartAreRemoved() throws {
    _ = try putDeadStart()
    #expect(try process().isEmpty)
    #expect(dumps.names.isEmpty)
  }

  /// Adds an owner that cannot be seen from here, with a FIFO that this process holds.
  private func putUnseenOwner(isMapped: Bool) throws -> (id: ReportID, fifo: Int32) {
    let id = try dumps.putDump(suffix: ".locked")
    try dumps.putRecord(
      id, processID: 1, startTime: 12345, bootID: try #require(host.bootID), namespace: 1,
      isMapped: isMapped)
    let fifo = dumps.path(of: "app@\(id).fifo")
    try #require(unsafe mkfifo(fifo, 0o600) == 0)
    let end = unsafe open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(end >= 0)
    return (id, end)
  }

  /// Adds a live owner, whose record differs from what `process()` shows.
  private func putChangedOwner(
    _ racer: Racer, _ change: (inout RunRecord) -> Void
  ) throws -> ReportID {
    let id = try dumps.putDump(suffix: ".locked")
    guard case .found(let found) = ProcessProbe.look(at: racer.processID) else {
      throw CocoaError(.featureUnsupported)
    }
    var record = RunRecord(
      processID: racer.processID, startTime: found.startTime, stackStart: found.stackStart,
      bootID: try #require(host.bootID), processNamespace: host.processNamespace, launchTime: 1)
    record.timeNamespace = host.timeNamespace
    change(&record)
    try dumps.put(try #require(record.encoded()), "app@\(id).run")
    return id
  }

  /// A restored process has another start time, and a container's boot ID can be mounted over.
  @Test func aHeldFIFOComesBeforeStartTimeStackAndBoot() throws {
    for change in [
      { $0.bootID = "mounted over" }, { $0.startTime += 1 }, { $0.stackStart += 16 },
      { $0.processNamespace = 1 },
    ] as [(inout RunRecord) -> Void] {
      let racer = try Racer(database: dumps.path)
      let id = try putChangedOwner(racer, change)
      let fifo = dumps.path(of: "app@\(id).fifo")
      try #require(unsafe mkfifo(fifo, 0o600) == 0)
      let end = unsafe open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
      try #require(end >= 0)
      #expect(
        try processAll() == [
          .left(
            "its owner may still write to it: a process holds the FIFO of process "
              + "\(racer.processID)", until: nil)
        ])
      #expect(dumps.names.count == 3)
      close(end)
      racer.kill()
      _ = try racer.lines()
      try FileManager.default.removeItem(atPath: dumps.path(of: "app@\(id).locked"))
      try FileManager.default.removeItem(atPath: dumps.path(of: "app@\(id).run"))
      try FileManager.default.removeItem(atPath: fifo)
    }
  }

  /// A child of `_Fork` or of a raw clone does not run the fork handler that closes the FIFO.
  @Test func aFIFOThatAChildHoldsIsNoLifeOfItsOwner() throws {
    let racer = try Racer(database: dumps.path)
    let id = try putChangedOwner(racer) { _ in }
    let fifo = dumps.path(of: "app@\(id).fifo")
    try #require(unsafe mkfifo(fifo, 0o600) == 0)
    let end = unsafe open(fifo, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    try #require(end >= 0)
    defer { close(end) }
    #expect(try process().isEmpty)
    racer.kill()
    _ = try racer.lines()
    #expect(try process() == [.complete])
    #expect(dumps.names.isEmpty)
  }

  @Test func FIFOAndMappingTellWhereTheProcessCannotBeSeen() throws {
    let (id, end) = try putUnseenOwner(isMapped: true)
    let record = unsafe open(dumps.path(of: "app@\(id).run"), O_RDWR | O_CLOEXEC)
    try #require(record >= 0)
    let page = unsafe mmap(nil, 1, PROT_NONE, MAP_SHARED, record, 0)
    try #require(unsafe page != MAP_FAILED)
    close(record)
    #expect(try process().isEmpty)
    close(end)
    // A child that another test is starting holds the FIFO until its exec.
    var left = try processAll()
    for _ in 0..<100 where "\(left)".contains("FIFO") { left = try processAll() }
    #expect(
      left == [
        .left(
          "its owner may still write to it: a process maps the run record of process 1", until: nil)
      ], "a program may have closed the FIFO")
    #expect(dumps.names.count == 3)
    unsafe munmap(page, 1)
    #expect(try process() == [.complete])
    #expect(dumps.names.isEmpty)
  }

  @Test func aClosedFIFOAloneIsNoProofOfDeath() throws {
    let (id, end) = try putUnseenOwner(isMapped: false)
    close(end)
    let left = try processAll()
    let outcome = try #require(left.first)
    let until = try #require(outcome.until)
    #expect(left.count == 1 && outcome.kind == .left)
    #expect(
      outcome.reason == "its owner may still write to it: nothing shows that its owner has ended")
    // The files were made just now, so they are left for a day.
    let hours = Double(until.nanoseconds) / 3600e9 - Date().timeIntervalSince1970 / 3600
    #expect((23.9...24.1).contains(hours), "\(hours)")
    #expect(dumps.names.count == 3)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -25 * 3600)],
      ofItemAtPath: dumps.path(of: "app@\(id).run"))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -25 * 3600)],
      ofItemAtPath: dumps.path(of: "app@\(id).locked"))
    #expect(try process() == [.complete])
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

  @Test(arguments: [100, 946_684_800])
  func aFileThatAClockHasDatedThatWasNotSetIsOfNoAge(seconds: TimeInterval) throws {
    let id = try dumps.putDump(
      suffix: ".locked", age: Date().timeIntervalSince1970 - seconds)
    #expect(try process() == [])
    #expect(dumps.names == ["app@\(id).locked"])
  }

  @Test func aDamagedRecordIsNoEvidence() throws {
    let id = try dumps.putDump(suffix: ".locked")
    for bytes in [[], [1, 2, 3], PendingDatabase.complete, Array(repeating: 0, count: 100_000)]
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
    let racer = try Racer("crash-lab", ["end", "main-thread", "--no-handler"])
    // The racer writes a line after its main thread has ended, and keeps running until the test tells it to end.
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
