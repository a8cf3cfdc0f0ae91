import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Testing

/// Programs with signal handlers of their own: each handler sees and does the same as without this package, and
/// each crash is a report.
///
/// The scenes are in Examples/CrashLab/C/chain.c.
@Suite struct ChainingTests {
  struct Scene: Sendable, CustomTestStringConvertible {
    let name: String
    /// The number of reports.
    let reports: Int
    /// The outcome that each report contains, in the order of the crashes.
    let outcomes: [Survival.Outcome?]

    var testDescription: String { name }
  }

  static let scenes = [
    // The handler fixes the cause and returns, twice. After the second crash nothing happens that would show that
    // the process continued.
    Scene(name: "fix", reports: 2, outcomes: [.wentOn, .previousHandlerRan]),
    Scene(name: "longjmp", reports: 2, outcomes: [.wentOn, .previousHandlerRan]),
    // The same instruction faults each time; a handler that leaves by longjmp never returns to it.
    Scene(
      name: "longjmp-again", reports: 5,
      outcomes: [.wentOn, .wentOn, .wentOn, .wentOn, .previousHandlerRan]),
    Scene(
      name: "return-then-leave", reports: 5,
      outcomes: [.wentOn, .wentOn, .wentOn, .wentOn, .previousHandlerRan]),
    Scene(name: "signal", reports: 2, outcomes: [.wentOn, .previousHandlerRan]),
    // The handler gets siginfo, mask and stack as the kernel passes them, and the program has its own stack again
    // afterwards.
    Scene(name: "look", reports: 2, outcomes: [.wentOn, .previousHandlerRan]),
    // The same on an alternate stack of 12 KiB.
    Scene(name: "small-look", reports: 2, outcomes: [.wentOn, .previousHandlerRan]),
    Scene(
      name: "small-nodefer", reports: 2, outcomes: [.previousHandlerRan, .previousHandlerRan]),
    Scene(name: "sent", reports: 2, outcomes: [.wentOn, .wentOn]),
    // An interrupted system call is restarted if the program's handler has SA_RESTART.
    Scene(name: "restart", reports: 1, outcomes: [.wentOn]),
    Scene(name: "interrupt", reports: 1, outcomes: [.wentOn]),
    // The second crash comes while the handler of the first one still runs: no outcome shows that the process
    // survived.
    Scene(name: "nodefer", reports: 2, outcomes: [.previousHandlerRan, .previousHandlerRan]),
    // One crash, whose handler ends the process by its own signal.
    Scene(name: "abort", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "abort-chained", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "other-signal", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "sent-abort", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "exit", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "immediate-exit", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "quick-exit", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "longjmp-then-exit", reports: 1, outcomes: [.previousHandlerRan]),
    // The abort is a second crash.
    Scene(name: "longjmp-then-abort", reports: 2, outcomes: [.previousHandlerRan, nil]),
    // The kernel ends the process at the second fault, because its signal is blocked.
    Scene(name: "nested", reports: 1, outcomes: [.previousHandlerRan]),
    Scene(name: "reset", reports: 1, outcomes: [.previousHandlerRan]),
    Scene(name: "raise", reports: 1, outcomes: [.previousHandlerRan]),
    // The same fault five times; the handler calls _exit at the last one.
    Scene(name: "stubborn", reports: 1, outcomes: [.endedByHandler]),
    Scene(name: "sent-then-fault", reports: 1, outcomes: [nil]),
    // A handler that was installed after ours calls ours, makes another thread of the program do something, and
    // then works for longer than our own time limit.
    Scene(name: "later-fault", reports: 1, outcomes: [.previousHandlerRan]),
    Scene(name: "later-abort", reports: 1, outcomes: [.previousHandlerRan]),
    Scene(name: "later-sent", reports: 1, outcomes: [.previousHandlerRan]),
    // A handler calls ours and leaves by longjmp; then the program dies of another signal.
    Scene(name: "later-leaves", reports: 2, outcomes: [.wentOn, nil]),
    Scene(name: "later-leaves-abort", reports: 2, outcomes: [.wentOn, nil]),
  ]

  @Test(
    arguments: scenes,
    BuildConfiguration.dynamic)
  func theSameOutputTheSameEndAReportForEachCrash(
    _ scene: Scene, _ configuration: BuildConfiguration
  ) async throws {
    let victim = try await Victim(configuration)
    let play = try await Play(scene.name, by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.standardOutput == play.alone.standardOutput)
    #expect(play.snapshots.count == scene.reports, "\(play.lines)")
    #expect(play.snapshots.map { $0.survival?.outcome } == scene.outcomes)
    #expect(play.lines.allSatisfy { $0.tellsAWholeDump }, "\(play.lines)")
    #expect(try victim.pendingFiles() == [])
    for (index, snapshot) in play.snapshots.enumerated() {
      #expect(snapshot.capture.isComplete)
      #expect(snapshot.process.processID == UInt32(play.handled.processID))
      #expect(snapshot.survival?.survivedCrashes == (index == 0 ? nil : UInt32(index)))
      let preceding = index == 0 ? nil : play.snapshots[index - 1].reportID
      #expect(snapshot.survival?.precedingReport == preceding)
    }
    #expect(Set(play.snapshots.map(\.reportID)).count == scene.reports)
  }

  @Test(arguments: BuildConfiguration.dynamic)
  func twoThreadsAtOnce(_ configuration: BuildConfiguration) async throws {
    let victim = try await Victim(configuration)
    let play = try await Play("threads", by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.standardOutput == play.alone.standardOutput)
    #expect(play.snapshots.count == 2, "\(play.lines)")
    #expect(Set(play.snapshots.map { $0.exception?.address }) == [0, 8])
    #expect(Set(play.snapshots.map { $0.exception?.threadID }).count == 2)
  }

  /// Each of two faults is repeated four times, alternating with the other.
  @Test(arguments: BuildConfiguration.dynamic)
  func twoThreadsWhoseHandlersReturn(_ configuration: BuildConfiguration) async throws {
    let victim = try await Victim(configuration)
    let play = try await Play("turns", by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.end.exitCode == 0)
    #expect(play.snapshots.count == 2, "\(play.lines)")
    #expect(Set(play.snapshots.map { $0.exception?.threadID }).count == 2)
  }

  /// Two threads crash by each of SEGV, ILL, FPE and ABRT.
  @Test func ofThreadsThatCrashAtOnceTheOneThatEndsTheProcessIsInTheReport() async throws {
    let victim = try await Victim(.release)
    for run in 1...100 {
      let child = try await victim.run(
        ["chain", "mixed-deaths", "--database", victim.database], in: "handled-\(run)")
      let name = try #require(
        try victim.pendingFiles().first { PendingDumpName(fileName: $0)?.role == .finished })
      let directory = victim.database + "/" + PendingDumpName.directory
      let snapshot = try Victim.snapshot(ofDump: directory + "/" + name)
      #expect(child.end.signal != nil)
      #expect(snapshot.exception?.signal == child.end.signal, "run \(run)")
      #expect(snapshot.capture.isComplete)
      let dumps = try victim.pendingFiles().compactMap { PendingDumpName(fileName: $0) }
        .filter { $0.role != .runRecord && $0.role != .fifo }
      #expect(dumps.count == 1, "run \(run): \(dumps)")
      try FileManager.default.removeItem(atPath: directory)
    }
  }

  @Test func aProcessThatLivesOnByCrashingDoesNotFillTheDisk() async throws {
    let victim = try await Victim(.asTested)
    let play = try await Play("many", by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.standardOutput == "20 calls\n")
    #expect(play.handled.standardOutput == play.alone.standardOutput)
    #expect(play.snapshots.count == 16)
    // A crash that is over leaves no descriptor open.
    #expect(Set(play.snapshots.map(\.process.descriptorCount)).count == 1)
    #expect(try victim.pendingFiles() == [])
  }

  @Test(arguments: BuildConfiguration.dynamic)
  func aHandlerThatLeavesASmallAlternateStackAHundredTimes(_ configuration: BuildConfiguration)
    async throws
  {
    let victim = try await Victim(configuration)
    let play = try await Play("small-longjmp", by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.standardOutput == "100 calls\n")
    #expect(play.handled.standardOutput == play.alone.standardOutput)
    #expect(play.snapshots.count == 16)
    #expect(play.lines.allSatisfy { $0.tellsAWholeDump }, "\(play.lines)")
  }

  @Test(arguments: BuildConfiguration.dynamic)
  func whatTheFirstChanceHandlerTakesLeavesNothing(_ configuration: BuildConfiguration) async throws
  {
    let victim = try await Victim(configuration)
    try await Play.takesItsCrashes(victim)
    let left = try await Play("first-chance-then-fault", by: victim)
    #expect(left.handled.end == left.alone.end)
    #expect(left.handled.end.signal == SIGSEGV)
    #expect(left.snapshots.map { $0.exception?.address } == [0])
  }

  @Test(arguments: BuildConfiguration.dynamic)
  func aLaterHandlerHasItsMaskAgainAfterTheFirstChanceHandler(_ configuration: BuildConfiguration)
    async throws
  {
    let victim = try await Victim(configuration)
    let play = try await Play("first-chance-in-later-handler", by: victim, withoutUs: false)
    #expect(play.handled.standardOutput == "mask kept\nmask kept\n2 calls\n")
    #expect(play.lines == [])
  }

  /// Another thread may map the page in the meantime: then the fault is not repeated, and all other threads stay
  /// stopped.
  @Test(
    arguments: ["first-chance-mends-read", "first-chance-mends-write"], BuildConfiguration.dynamic)
  func aFaultWhoseCauseIsGoneWhenTheDumpIsDoneEndsTheProcessAllTheSame(
    _ scene: String, _ configuration: BuildConfiguration
  ) async throws {
    let victim = try await Victim(configuration)
    let play = try await Play(scene, by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.end.signal == SIGSEGV)
    #expect(play.snapshots.map { $0.exception?.signal } == [SIGSEGV])
  }

  /// The handler loads from the address to check whether the cause is gone; this load faults while our handlers
  /// are installed.
  @Test(
    .needs(.gdb),
    .enabled(if: CoreFile.obstacle == nil || OutsideTool.mustBeThere))
  func theCoreFileShowsTheCrashAlsoWhereMemoryIsReadWithoutASystemCall() async throws {
    let victim = try await Victim(.asTested)
    let child = try await victim.die(
      "freed-page", on: .main, options: ["--forgo", "memory"], coreFile: .allowed)
    #expect(child.end.signal == SIGSEGV)
    let gdb = try await GDB.view(
      core: try CoreFile.path(in: try victim.directory("handled")), of: victim.executable,
      directory: try victim.directory("gdb"))
    _ = try await victim.process()
    let snapshot = try Victim.snapshot(of: try #require(try victim.reports().first))
    let address = try #require(snapshot.crashedThread?.instructionPointer)
    #expect(gdb.registers["rip"] ?? gdb.registers["pc"] == address.value, "\(gdb.transcript)")
  }

  /// Swift's backtracer restores the default actions and returns, so the process survives a signal that was sent.
  @Test(arguments: BuildConfiguration.dynamic)
  func aSentSignalUnderSwiftsBacktracerThenAFault(_ configuration: BuildConfiguration) async throws
  {
    let victim = try await Victim(configuration)
    let play = try await Play("segv-then-fault", by: victim, backtracer: true)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.standardOutput == "went on\n")
    #expect(play.handled.standardOutput == play.alone.standardOutput)
    #expect(play.handled.standardError.contains("Program crashed: "), "the backtracer did not run")
    #expect(play.snapshots.map { $0.survival?.outcome } == [.wentOn, nil])
  }

  @Test func aForkedChildsFileHasARunRecordAndAFIFOOfItsOwn() async throws {
    let victim = try await Victim(.asTested)
    let alone = try await victim.run(["chain", "child", "--no-handler"], in: "alone")
    let handled = try await victim.run(
      ["chain", "child", "--database", victim.database], in: "handled")
    #expect(handled.end == alone.end)
    #expect(handled.standardOutput == alone.standardOutput)
    let names = try victim.pendingFiles().compactMap { PendingDumpName(fileName: $0) }
    let dump = try #require(names.first { $0.role == .finished })
    let ofChild = names.filter { $0.reportID == dump.reportID }
    #expect(Set(ofChild.map(\.role)) == [.finished, .runRecord, .fifo])
    let directory = victim.database + "/" + PendingDumpName.directory + "/"
    let records = try names.filter { $0.role == .runRecord }.map { name in
      let bytes = try Data(contentsOf: URL(fileURLWithPath: directory + name.description))
      let document = try IntermediateDumpDocument(parsing: [UInt8](bytes))
      #expect(document.isComplete)
      return (name.reportID, try #require(document.root.map(.owner)))
    }
    #expect(records.count == 2)
    let own = try #require(records.first { $0.0 == dump.reportID }?.1)
    let parents = try #require(records.first { $0.0 != dump.reportID }?.1)
    #expect(parents.unsigned(.ownerProcessID) == UInt64(handled.processID))
    #expect(own.unsigned(.ownerProcessID) != UInt64(handled.processID))
    // The child runs the same program on the same machine and in the same namespace, and started later or in the
    // same clock tick.
    #expect(own.text(.ownerBootID) == parents.text(.ownerBootID))
    #expect(own.unsigned(.ownerProcessNamespace) == parents.unsigned(.ownerProcessNamespace))
    #expect(own.unsigned(.ownerStackStart) == parents.unsigned(.ownerStackStart))
    #expect(own.unsigned(.ownerStackStart) != 0)
    let started = try #require(parents.unsigned(.ownerStartTime))
    #expect(try #require(own.unsigned(.ownerStartTime)) >= started)
    #expect(started > 0)
    #expect(own.data(.continuesReport) == nil)
    // The reports are the child's crash, and the end of the parent.
    #expect(try await victim.process().count == 2)
    let report = try #require(try victim.reports().first { $0.id == dump.reportID })
    let snapshot = try Victim.snapshot(of: report)
    #expect(snapshot.process.processID.map(UInt64.init) == own.unsigned(.ownerProcessID))
    #expect(try victim.pendingFiles() == [])
  }

  @Test func theLockedFileAfterACrashThatWasSurvivedSaysWhichOneItContinues() async throws {
    let victim = try await Victim(.asTested)
    _ = try await victim.run(["chain", "fix-killed", "--database", victim.database], in: "handled")
    let names = try victim.pendingFiles().compactMap { PendingDumpName(fileName: $0) }
    let locked = try #require(names.first { $0.role == .locked })
    let dumps = names.filter { $0.role == .finished }.map(\.reportID)
    #expect(dumps.count == 2)
    let record =
      victim.database + "/" + PendingDumpName.directory + "/"
      + locked.with(role: .runRecord).description
    let bytes = try Data(contentsOf: URL(fileURLWithPath: record))
    let owner = try #require(
      try IntermediateDumpDocument(parsing: [UInt8](bytes)).root.map(.owner))
    let continues = try #require(owner.data(.continuesReport).flatMap { ReportID(bytes: $0) })
    #expect(dumps.contains(continues))
    // The process has since ended without another crash, so the conversion removes the leftover file and makes no
    // report of it.
    #expect(try await victim.process().count == 2)
    #expect(try victim.pendingFiles() == [])
  }
}

/// A scene of crash-lab, with and without our handler, and the reports that the next start makes.
struct Play {
  let alone: ChildProcess
  let handled: ChildProcess
  let lines: [String]
  /// The snapshots, in the order of the crashes.
  let snapshots: [ProcessSnapshot]

  init(
    _ scene: String, by victim: Victim, withoutUs: Bool = true, backtracer: Bool = false
  ) async throws {
    handled = try await victim.run(
      ["chain", scene, "--database", victim.database], in: "handled-\(scene)",
      backtracer: backtracer)
    alone =
      withoutUs
      ? try await victim.run(
        ["chain", scene, "--no-handler"], in: "alone-\(scene)", backtracer: backtracer)
      : handled
    lines = try await victim.process()
    snapshots = try victim.reports().map(Victim.snapshot(of:)).sorted {
      ($0.process.crashUptime ?? 0) < ($1.process.crashUptime ?? 0)
    }
  }
  /// A program whose first-chance handler handles both faults continues, and leaves no report.
  @discardableResult
  static func takesItsCrashes(_ victim: Victim) async throws -> ChildProcess {
    let taken = try await Play("first-chance", by: victim, withoutUs: false)
    #expect(taken.handled.end.exitCode == 0)
    #expect(taken.handled.standardOutput == "2 calls\n")
    #expect(taken.lines == [])
    return taken.handled
  }
}
