import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Testing

@testable import CrashConverter

/// The rules that infer from evidence how a run ended.
@Suite struct EndEvidenceTests {
  private static let minute: Int64 = 60_000_000_000

  /// A run about which only is known that it did not exit.
  private var evidence: EndEvidence

  init() {
    var record = RunRecord(
      processID: 42, startTime: 7, stackStart: 8, bootID: "boot", processNamespace: 9,
      launchTime: 0)
    var course = RunCourse()
    course.followsExits = true
    course.launch = Self.seen(at: 0)
    record.course = course
    evidence = EndEvidence(record: record)
    evidence.bootID = "boot"
    evidence.bootTime = -Self.minute
    (evidence.machineKills, evidence.groupKills) = (5, 1)
  }

  private static func seen(at time: Int64) -> RunEvidence {
    var seen = RunEvidence(time: time)
    (seen.machineKills, seen.groupKills, seen.groupProcesses) = (5, 1, 10)
    (seen.memoryUsed, seen.memoryLimit) = (10 << 20, 100 << 20)
    (seen.machineMemory, seen.availableMemory, seen.residentMemory) = (1 << 34, 1 << 33, 5 << 20)
    return seen
  }

  private func verdict(
    _ change: (inout EndEvidence, inout RunCourse) -> Void
  ) -> (RunEnd.Kind?, RunEnd.Certainty?)? {
    var evidence = evidence
    var course = evidence.record.course ?? RunCourse()
    change(&evidence, &course)
    evidence.record.course = course
    return evidence.verdict.map { ($0.kind, $0.certainty) }
  }

  @Test func anEndByItsOwnWillIsNone() {
    #expect(verdict { $1.notes.end = .exit } == nil)
    #expect(verdict { $1.notes.end = .immediateExit } == nil)
    // The rule applies regardless of other evidence.
    #expect(
      verdict {
        $1.notes.end = .exit
        $0.isInKernelLog = true
        $0.bootID = "another"
      } == nil)
    #expect(verdict { evidence, _ in evidence.process = .ended(waitStatus: 3 << 8) } == nil)
    #expect(verdict { evidence, _ in evidence.process = .ended(waitStatus: 15) } == nil)
    #expect(
      verdict {
        $1.notes.termination = .init(signal: 15, reaction: .defaultAction, time: 1)
      } == nil)
  }

  @Test func withoutKnownExitsOnlyTheKernelsWordCounts() throws {
    #expect(verdict { $1.followsExits = false } == nil)
    #expect(
      verdict {
        $1.followsExits = false
        $0.bootID = "another"
      } == nil)
    #expect(
      try #require(
        verdict {
          $1.followsExits = false
          $0.isInKernelLog = true
        }) == (.outOfMemory, .certain))
  }

  @Test func aCountThatGrewIsNotEnoughInAGroupOfMany() throws {
    let other = try #require(verdict { evidence, _ in evidence.groupKills = 2 })
    #expect(other == (.unexplained, .possible))
    let alone = try #require(
      verdict {
        $0.groupKills = 2
        $1.launch?.groupProcesses = 1
      })
    #expect(alone == (.outOfMemory, .likely))
    let full = try #require(
      verdict {
        $0.groupKills = 2
        $1.heartbeat = Self.seen(at: 5)
        $1.heartbeat?.memoryUsed = 95 << 20
      })
    #expect(full == (.outOfMemory, .likely))
    // An earlier kill of another process, before the last heartbeat.
    let before = try #require(
      verdict {
        $0.groupKills = 2
        $1.heartbeat = Self.seen(at: 5)
        $1.heartbeat?.groupKills = 2
        $1.heartbeat?.memoryUsed = 95 << 20
      })
    #expect(before == (.unexplained, .possible))
  }

  /// The kernel's log names one other process, for one or two kills that the machine counted.
  @Test(arguments: [(6, .unexplained), (7, .outOfMemory)] as [(UInt64, RunEnd.Kind)])
  func aKillThatTheKernelsLogExplainsByAnotherProcessIsNotThisOnes(
    _ machineKills: UInt64, _ kind: RunEnd.Kind
  ) throws {
    let end = try #require(
      verdict {
        ($0.machineKills, $0.groupKills, $0.othersInKernelLog) = (machineKills, 2, 1)
        $1.launch?.groupProcesses = 1
      })
    #expect(end.0 == kind)
    // The wait status names SIGKILL, which somebody else sent.
    let killed = try #require(
      verdict {
        ($0.machineKills, $0.groupKills, $0.othersInKernelLog) = (machineKills, 2, 1)
        $0.process = .ended(waitStatus: 9)
        $1.launch?.groupProcesses = 1
      })
    #expect(killed.0 == (kind == .unexplained ? .killed : .outOfMemory))
  }

  @Test func theMachinesCountNeedsAFullMachineAndALargeProcess() throws {
    #expect(
      try #require(verdict { evidence, _ in evidence.machineKills = 6 })
        == (.unexplained, .possible))
    #expect(
      try #require(
        verdict {
          $0.machineKills = 6
          $1.heartbeat = Self.seen(at: 5)
          $1.heartbeat?.availableMemory = 1 << 20
          $1.heartbeat?.residentMemory = 15 << 30
        }) == (.outOfMemory, .likely))
    // The cgroup was removed with its container.
    #expect(
      try #require(
        verdict {
          ($0.machineKills, $0.groupKills) = (6, nil)
          $1.heartbeat = Self.seen(at: 5)
          $1.heartbeat?.memoryUsed = 99 << 20
        }) == (.outOfMemory, .likely))
  }

  /// `postmortem doctor` predicts the report after a kill now; a reboot cannot have happened before that.
  @Test func aRunThatLivesIsPromisedNoReboot() throws {
    var record = evidence.record
    record.course?.followsExits = true
    for bootID in ["boot", "mounted over"] {
      record.bootID = bootID
      #expect(try #require(RunEnd(ifKilledNow: record)).kind != .rebooted)
    }
    // A /proc without /proc/sys, because of the mount option subset=pid.
    record.bootID = ""
    #expect(RunEnd(ifKilledNow: record) == nil)
  }

  @Test func aHeartbeatLongBeforeTheBootIsNoReboot() throws {
    #expect(
      try #require(
        verdict {
          ($0.bootID, $0.bootTime) = ("another", 10 * Self.minute)
          $1.heartbeat = Self.seen(at: 9 * Self.minute)
        }) == (.rebooted, .likely))
    #expect(
      try #require(
        verdict {
          ($0.bootID, $0.bootTime) = ("another", 10 * Self.minute)
          $1.heartbeat = Self.seen(at: Self.minute)
        }) == (.unexplained, .possible))
  }

  @Test func aHeartbeatAfterTheSignalMakesTheStopTimeoutLikely() throws {
    let note = RunNotes.Termination(signal: 15, reaction: .program, time: Self.minute)
    #expect(
      try #require(verdict { $1.notes.termination = note }) == (.stopTimeout, .possible))
    #expect(
      try #require(
        verdict {
          $1.notes.termination = note
          $1.heartbeat = Self.seen(at: 2 * Self.minute)
        }) == (.stopTimeout, .likely))
  }

  @Test func aLaterRunOfTheSameProcessIsAnExec() throws {
    #expect(
      try #require(verdict { evidence, _ in evidence.hasLaterRun = true })
        == (.replaced, .certain))
  }

  @Test func aWaitStatusIsCertain() throws {
    #expect(
      try #require(verdict { evidence, _ in evidence.process = .ended(waitStatus: 9) })
        == (.killed, .certain))
  }

  @Test func theKernelsLogIsRead() throws {
    let line =
      "6,1234,22860639005,-;Memory cgroup out of memory: Killed process 42 (server) x\n A=b\n"
    let message = try #require(KernelLog.parse(Array(line.utf8)[...]))
    #expect(message.time == 22_860_639_005_000)
    #expect(message.text == "Memory cgroup out of memory: Killed process 42 (server) x")
    for bad in ["", ";", "6;x", "a,b,c;x", "6,1,99999999999999999999,-;x"] {
      #expect(KernelLog.parse(Array(bad.utf8)[...]) == nil)
    }
  }
}
