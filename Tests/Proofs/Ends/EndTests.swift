import CrashAnalysis
import CrashConverter
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import Minidump
import PendingDumps
import ProcessSnapshot
import Testing

/// The reports that the next start makes of real processes that ended without a dump.
@Suite struct EndTests {
  private let directory: EndDirectory

  init() throws { directory = try EndDirectory() }

  private func run(_ way: String, mode: EndingVictim.Mode = .handled) throws -> EndingVictim {
    try EndingVictim(directory.database, way, mode: mode)
  }

  private func started(_ way: String, mode: EndingVictim.Mode = .handled) throws -> EndingVictim {
    let victim = try run(way, mode: mode)
    try #require(victim.waitForLine("waiting"))
    return victim
  }

  /// Converts, checks that no file is pending, and returns the only report of an end.
  private func verdict() throws -> RunEnd {
    let processed = try directory.process()
    #expect(processed.count == 1, "\(processed)")
    #expect(directory.pending == [])
    let ends = try directory.ends()
    try #require(ends.count == 1)
    // A report of an end is uploaded only on request.
    #expect(ends[0].state == .completed)
    #expect(ends[0].snapshot.process.product == "CrashLab")
    #expect(ends[0].snapshot.process.executablePath?.hasSuffix("/crash-lab") == true)
    return ends[0].end
  }

  private static let ownWays = [
    "exit", "return", "_exit", "_Exit", "quick_exit", "thread-exit", "fork-_exit", "fork-orphan",
    "daemon", "daemon-exit", "close-all", "no-file-size", "note-exit",
  ]

  @Test(arguments: ownWays)
  func anEndByTheProgramsOwnWillIsAsWithoutUsAndNeverReported(way: String) throws {
    let plain = try run(way, mode: .alone).end()
    let victim = try run(way)
    let end = victim.end()
    #expect(end == plain)
    if way.hasPrefix("daemon") {
      let daemon = try #require(victim.daemonProcessID())
      try #require(EndingVictim.waitForEnd(of: daemon))
    }
    #expect(try directory.process() == [])
    #expect(try directory.ends().isEmpty)
    #expect(directory.pending.filter { $0.hasSuffix(".locked") } == [])
  }

  @Test(arguments: ["exit", "return", "thread-exit"])
  func aCleanExitLeavesNothingBehind(way: String) throws {
    try run(way).end()
    #expect(directory.pending == [])
  }

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGPIPE])
  func aSignalThatAsksAProcessToEndEndsItAsWithoutUsAndIsNeverReported(signal: Int32) throws {
    let ends = try [EndingVictim.Mode.alone, .handled].map { mode in
      let victim = try started("wait", mode: mode)
      victim.signal(signal)
      return victim.end()
    }
    #expect(ends[0] == ends[1])
    #expect(ends[0].signal == signal)
    #expect(try directory.process() == [])
    #expect(try directory.ends().isEmpty)
  }

  @Test func aProgramsOwnHandlerReplacesOurs() throws {
    let victim = try started("handles-term")
    victim.signal(SIGTERM)
    #expect(victim.end().exitCode == 0)
    #expect(try directory.process() == [])
  }

  @Test func anIgnoredSignalStaysIgnored() throws {
    let victim = try EndingVictim(
      directory.database, "wait", through: ["/usr/bin/nohup"])
    try #require(victim.waitForLine("waiting"))
    // Both signals are pending when the process continues. If SIGHUP were not ignored, it would be delivered first.
    victim.signal(SIGSTOP)
    victim.signal(SIGHUP)
    victim.signal(SIGTERM)
    victim.signal(SIGCONT)
    #expect(victim.end().signal == SIGTERM)
    #expect(try directory.process() == [])
  }

  @Test func aKilledProcessWhoseParentHasNotAskedIsKnownToBeKilled() throws {
    let victim = try started("wait")
    victim.signal(SIGKILL)
    victim.waitForZombie()
    let end = try verdict()
    #expect(end.kind == .killed)
    #expect(end.certainty == .certain)
    #expect(end.signal == SIGKILL)
    victim.end()
  }

  @Test func aKilledProcessIsUnexplained() throws {
    let victim = try started("wait")
    victim.signal(SIGKILL)
    #expect(victim.end().signal == SIGKILL)
    let end = try verdict()
    #expect(end.kind == .unexplained)
    #expect(end.evidence.contains { $0.contains("neither exit nor _exit") })
  }

  @Test func aDaemonThatIsKilledIsAKilledRunAndItsParentIsNone() throws {
    let victim = try run("daemon-wait")
    #expect(victim.end().exitCode == 0)
    let daemon = try #require(victim.daemonProcessID())
    kill(daemon, SIGKILL)
    try #require(EndingVictim.waitForEnd(of: daemon))
    let end = try verdict()
    // The process that adopts orphans may already have waited for it.
    #expect([.killed, .unexplained].contains(end.kind))
    #expect(try directory.ends()[0].snapshot.process.processID == UInt32(daemon))
  }

  @Test func aDaemonThatExitsLeavesNothingOfItsOwnBehind() throws {
    let victim = try run("daemon-exit")
    victim.end()
    let daemon = try #require(victim.daemonProcessID())
    try #require(EndingVictim.waitForEnd(of: daemon))
    // The locked file is the parent's: daemon(3) ends the parent with _exit.
    #expect(directory.pending.count { $0.hasSuffix(".locked") } == 1)
    let records = directory.pending.filter { $0.hasSuffix(".run") }
    #expect(records.count == 1)
  }

  @Test func aDaemonHasALockedFileWithBlocksHeldForIt() throws {
    let victim = try run("daemon-wait")
    victim.end()
    let daemon = try #require(victim.daemonProcessID())
    defer { kill(daemon, SIGKILL) }
    try #require(victim.waitForLine("waiting"))
    let held = try directory.pending.filter { $0.hasSuffix(".locked") }.filter { name in
      let owner = try #require(directory.record(beside: name))
      return owner.processID == UInt32(daemon)
    }
    try #require(held.count == 1)
    var status = stat()
    try #require(unsafe stat(directory.pendingPath + "/" + held[0], &status) == 0)
    // st_blocks counts 512-byte blocks; `DumpFile.preallocated` reserves 256 KiB.
    #expect(status.st_size == 0 && status.st_blocks >= 512)
  }

  @Test func nothingIsSaidWhereTheProgramDoesNotWantIt() throws {
    let victim = try started("wait", mode: .withoutUncleanEnds)
    victim.signal(SIGKILL)
    victim.end()
    #expect(try directory.process() == [])
    #expect(directory.pending == [])
  }

  @Test func aChildsExitIsNotItsParents() throws {
    let victim = try started("fork-exit")
    #expect(directory.pending.count { $0.hasSuffix(".locked") } == 1)
    victim.signal(SIGKILL)
    victim.end()
    #expect(try verdict().kind == .unexplained)
  }

  @Test func killedAfterASignalThatItHandledIsTheStopTimeout() throws {
    let victim = try started("slow-term")
    victim.signal(SIGTERM)
    try #require(victim.waitForLine("noted"))
    victim.signal(SIGKILL)
    victim.end()
    let end = try verdict()
    #expect(end.kind == .stopTimeout)
    #expect(end.signal == SIGTERM)
    #expect(end.evidence.contains { $0.hasPrefix("Signal 15 came at ") })
  }

  @Test func aProgramThatBecameAnotherIsReplaced() throws {
    let victim = try started("exec")
    let end = try verdict()
    #expect(end.kind == .replaced)
    #expect(end.certainty == .certain)
    victim.signal(SIGKILL)
    victim.end()
  }

  @Test func aProgramThatStartedItselfAgainIsReplacedOnceAndThenItself() throws {
    let victim = try started("exec-self")
    victim.signal(SIGKILL)
    victim.end()
    #expect(try directory.process().count == 2)
    #expect(
      Set(try directory.ends().compactMap(\.end.kind)) == [.replaced, .unexplained])
  }

  @Test func anotherBootIsAReboot() throws {
    let victim = try started("wait")
    victim.signal(SIGKILL)
    victim.end()
    try directory.changeRecord { $0.bootID = "11111111-2222-3333-4444-555555555555" }
    let end = try verdict()
    #expect(end.kind == .rebooted)
    #expect(end.certainty == .possible)
    #expect(end.evidence.contains { $0.contains("boot 11111111-2222-3333-4444-555555555555") })
  }

  @Test func aProcessThatHungAndWasKilledIsOneReport() throws {
    let victim = try started("hang")
    try #require(directory.waitForRecord { $0.heartbeat?.hangReport != nil })
    victim.signal(SIGKILL)
    victim.end()
    #expect(try directory.process().count == 1)
    #expect(directory.pending == [])
    #expect(try directory.ends().isEmpty)
    let reports = try CrashReportDatabase(path: directory.database).reports()
    try #require(reports.count == 1)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: reports[0].path))
    let snapshot = try MinidumpReader.snapshot(of: [UInt8](bytes))
    #expect(snapshot.request?.end?.kind == .hungThenKilled)
  }

  @Test func aHeartbeatNamesTheFilesThatWereLocked() throws {
    let victim = try started("lock-heartbeat")
    try #require(directory.waitForRecord { $0.heartbeat?.lockedFiles.isEmpty == false })
    victim.signal(SIGKILL)
    victim.end()
    let end = try verdict()
    #expect(end.kind == .unexplained)
    #expect(
      end.evidence.contains("It held locks on \(directory.database)/locked."), "\(end.evidence)")
  }

  @Test func aCrashInAnExitHandlerIsStillACrash() throws {
    let victim = try run("crash-at-exit")
    #expect(victim.end().signal == SIGABRT)
    #expect(try directory.process().map(\.outcome) == [.complete])
    #expect(try directory.ends().isEmpty)
  }

  @Test(.enabled("needs root") { geteuid() == 0 })
  func theFirstProcessOfANamespaceGoesOnAfterASignalAndMayThenBeKilled() throws {
    let victim = try EndingVictim(
      directory.database, "wait", through: Racer.namespace)
    try #require(victim.waitForLine("waiting"))
    // The child of unshare(1).
    let children = "/proc/\(victim.processID)/task/\(victim.processID)/children"
    let text = try String(contentsOfFile: children, encoding: .utf8)
    let inner = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    kill(inner, SIGTERM)
    try #require(directory.waitForRecord { $0.notes.termination != nil })
    #expect(kill(inner, 0) == 0)
    kill(inner, SIGKILL)
    victim.end()
    let end = try verdict()
    #expect(end.kind == .stopTimeout)
    #expect(end.evidence.contains { $0.contains("discards its default action") })
  }

  @Test(.enabled("needs a memory group") { canMakeGroup })
  func aProcessThatEatsItsGroupsMemory() throws {
    let group = try MemoryLimit(megabytes: 64)
    let victim = try EndingVictim(
      directory.database, "eat",
      through: ["/bin/sh", "-c", "echo $$ > \(group.path)/cgroup.procs && exec \"$@\"", "sh"])
    #expect(victim.end().signal == SIGKILL)
    let end = try verdict()
    #expect(end.kind == .outOfMemory, "\(end)")
    #expect(end.certainty != .possible)
    let report = CrashReport(snapshot: try directory.ends()[0].snapshot, symbolicating: false)
    #expect(report.explanation?.contains("memory had run out") == true)
    #expect(report.signature == "end | out-of-memory")
    #expect(TextReport.text(of: report).contains("Processes of its cgroup that were"))
  }

  @Test(.enabled("needs a memory group") { canMakeGroup })
  func aGroupThatIsGoneSaysNothingWhateverTheRootsCounterIs() throws {
    var group: MemoryLimit? = try MemoryLimit(megabytes: 64)
    let path = try #require(group?.path)
    let victim = try EndingVictim(
      directory.database, "wait",
      through: ["/bin/sh", "-c", "echo $$ > \(path)/cgroup.procs && exec \"$@\"", "sh"])
    try #require(victim.waitForLine("waiting"))
    victim.signal(SIGKILL)
    victim.end()
    group = nil
    let end = try verdict()
    #expect(end.kind == .unexplained)
    #expect(
      end.evidence.contains(
        "Processes of its cgroup that were killed because memory ran out: 0 at its launch, not readable now."
      ),
      "\(end.evidence)")
  }

  /// Needs root and a mounted memory controller.
  private static let canMakeGroup = (try? MemoryLimit(megabytes: 64)) != nil
}

/// A memory cgroup for this test, version 1 or 2; deinit removes it.
private final class MemoryLimit {
  let path: String

  init(megabytes: Int) throws {
    let root = "/sys/fs/cgroup"
    let isUnified = FileManager.default.fileExists(atPath: root + "/cgroup.controllers")
    path = (isUnified ? root : root + "/memory") + "/postmortem-end-\(UUID().uuidString)"
    guard unsafe mkdir(path, 0o700) == 0 else { throw CocoaError(.fileWriteNoPermission) }
    let limit = isUnified ? "memory.max" : "memory.limit_in_bytes"
    try "\(megabytes << 20)".write(toFile: "\(path)/\(limit)", atomically: false, encoding: .utf8)
  }

  deinit {
    // The last process may still be exiting.
    for _ in 0..<100 {
      if unsafe rmdir(path) == 0 { return }
      usleep(10_000)
    }
  }
}
