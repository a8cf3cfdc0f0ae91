import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashReportDatabase
import CrashTestSupport
import Foundation
import IntermediateDump
import ProcessSnapshot
import Testing

/// Swift's own backtracer was installed before our handler: it still prints, and the process ends in the same
/// way.
@Suite struct PreviousHandlerTests {
  @Test(arguments: ["null-read", "abort", "fatal-error", "divide-by-zero"], CrashPlace.kinds)
  func theBacktracerStillPrintsAndTheProcessStillEndsAlike(_ kind: String, _ place: CrashPlace)
    async throws
  {
    let crash = try #require(KnownCrash.debugged.first { $0.kind == kind })
    let victim = try await Victim(.asTested)
    let alone = try await victim.dieAlone(kind, on: place, backtracer: true)
    let handled = try await victim.die(kind, on: place, backtracer: true)
    #expect(handled.end == alone.end)
    for child in [alone, handled] {
      #expect(child.standardError.contains("Program crashed: "), "the backtracer did not run")
      // The backtracer follows frame pointers, which end in libc for abort.
      if kind != "abort" { #expect(child.standardError.contains(crash.function)) }
    }
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines.first?.tellsAWholeDump == true, "\(lines)")
    let report = try #require(try victim.reports().first)
    let snapshot = try Victim.snapshot(of: report)
    let exception = try #require(snapshot.exception)
    #expect(exception.signal == crash.signal && exception.code == crash.code)
    // The backtracer ran. The process always ends after it, so the report has no outcome.
    #expect(snapshot.survival?.outcome == nil)
    #expect(snapshot.survival?.previousHandler != nil)
    #expect(handled.leftBehind == [])
    Self.checkLines(handled, report.id)
  }

  /// Checks that our lines and pieces come before all lines of the backtracer.
  private static func checkLines(_ child: ChildProcess, _ report: ReportID) {
    let lines = child.standardError.split(separator: "\n")
    let ours = lines.indices.filter { lines[$0].hasPrefix("postmortem") }
    let digits = "\(report)".replacing("-", with: "").prefix(16)
    #expect(
      ours.count { lines[$0].hasPrefix("postmortem-log-1") && lines[$0].contains("-\(digits)-") }
        >= 3)
    #expect(ours.count { lines[$0].hasPrefix("postmortem[\(child.processID)]: ") } == 2)
    let backtrace = lines.firstIndex { $0.contains("Backtracing") }
    #expect(ours.last ?? .max < backtrace ?? 0)
  }

  @Test(arguments: ["null-read", "abort"])
  func threadsThatCrashAtOnceMakeOneReportAndNothingIsLeft(_ kind: String) async throws {
    let victim = try await Victim(.release)
    for _ in 1...3 {
      let child = try await victim.die(
        kind, on: .main, options: ["--condition", "at-once"], backtracer: true)
      let lines = try await victim.process()
      #expect(lines.count == 1 && lines.last?.tellsAWholeDump == true, "\(lines)")
      #expect(child.end.signal == (kind == "abort" ? SIGABRT : SIGSEGV))
      #expect(child.standardError.contains("Program crashed"))
      // Our handler had stopped all other threads, and the backtracer could still suspend and read them.
      #expect(!child.standardError.contains("failed to suspend"), "\(child.standardError)")
      #expect(child.leftBehind == [])
    }
  }

  @Test func theReportsSignalIsTheOneThatEndsTheProcessInWhateverWayThreadsCrash() async throws {
    let victim = try await Victim(.release)
    for run in 1...10 {
      let child = try await victim.run(
        ["chain", "mixed-deaths", "--database", victim.database], in: "handled-\(run)",
        backtracer: true)
      #expect(child.leftBehind == [])
      let reports = try await victim.process()
      #expect(reports.count == 1 && reports.first?.tellsAWholeDump == true, "\(reports)")
      let report = try #require(try victim.reports().first)
      #expect(try Victim.snapshot(of: report).exception?.signal == child.end.signal)
      try FileManager.default.removeItem(atPath: victim.database)
    }
  }

  /// The backtracer shows threads that are stopped in our handler as it would show them without the handler.
  @Test func theBacktracerShowsTheOtherThreadsStacksAsWithoutUs() async throws {
    let victim = try await Victim(.asTested)
    let alone = try await victim.dieAlone("null-read", on: .pthread, backtracer: true)
    let handled = try await victim.die("null-read", on: .pthread, backtracer: true)
    let (stacks, expected) = (
      Self.stacks(in: handled.standardError), Self.stacks(in: alone.standardError)
    )
    #expect(stacks.count > Victim.sleepers)
    // On a busy machine, the backtracer alone sometimes misses a thread; with our handler it has all of them, and
    // no other.
    let sleepers = (1...Victim.sleepers).map { "sleeper-\($0)" }
    #expect(Set(stacks.keys) == Set(expected.keys).union(sleepers))
    for (thread, functions) in stacks {
      let ours = ["pm_handle", "pm_enter", "pm_run", "standIn", "FutexWord"]
      #expect(!functions.contains { name in ours.contains { name.contains($0) } }, "\(functions)")
      // A thread may not be asleep yet. Its outermost function is the same, except for the function that gave it
      // an alternate stack.
      #expect(
        expected[thread]?.last.map(functions.contains) == true, "\(thread): \(functions)")
    }
  }

  /// The functions of each thread, by its name.
  private static func stacks(in text: String) -> [String: [String]] {
    var stacks: [String: [String]] = [:]
    var thread = ""
    for line in text.split(separator: "\n") {
      if let match = line.firstMatch(of: /^Thread [0-9]+ "(.*?)"/) {
        thread = String(match.1)
      } else if let match = line.firstMatch(
        of: /^ *[0-9]+ (?:\[.*\] )* *0x[0-9a-f]+ (.*?)(?: \+ | in | at |$)/)
      {
        stacks[thread, default: []].append(String(match.1))
      }
    }
    return stacks
  }

  /// Without our handler, the kernel ends the process at once, because it has no stack to call a handler on.
  @Test(arguments: [CrashPlace.pthread, .dispatch, .earlierThread])
  func itDoesNotRunForAnOverflowThatItCouldNotHaveSeen(_ place: CrashPlace) async throws {
    let victim = try await Victim(.asTested)
    let alone = try await victim.dieAlone("stack-overflow", on: place, backtracer: true)
    let handled = try await victim.die("stack-overflow", on: place, backtracer: true)
    #expect(handled.end == alone.end)
    #expect(!alone.standardError.contains("Program crashed: "))
    #expect(!handled.standardError.contains("Program crashed: "))
    #expect(try LoggedReport.dumps(in: handled.standardError).count == 1)
    #expect(try await victim.process().count == 1)
    let report = try #require(try victim.reports().first)
    #expect(try Victim.snapshot(of: report).survival == nil)
  }

  /// The backtracer has given the main thread an alternate stack.
  @Test func itRunsForAnOverflowThatItHasAStackFor() async throws {
    let victim = try await Victim(.asTested)
    let alone = try await victim.dieAlone("stack-overflow", on: .main, backtracer: true)
    let handled = try await victim.die("stack-overflow", on: .main, backtracer: true)
    #expect(handled.end == alone.end)
    #expect(alone.standardError.contains("Program crashed: "))
    #expect(handled.standardError.contains("Program crashed: "))
    #expect(try await victim.process().count == 1)
  }

  /// With static linking, the backtracer's handler is in the program's own file, like the program's handlers.
  @Test(
    arguments: ["null-read", "stack-overflow"], [BuildConfiguration.staticDebug, .staticRelease])
  func withSwiftsLibrariesInsideItIsNamedAsWell(_ kind: String, _ configuration: BuildConfiguration)
    async throws
  {
    let victim = try await Victim(configuration)
    let alone = try await victim.dieAlone(kind, on: .main, backtracer: true)
    let handled = try await victim.die(kind, on: .main, backtracer: true)
    #expect(handled.end == alone.end)
    #expect(alone.standardError.contains("Program crashed: "), "\(alone.standardError)")
    #expect(handled.standardError.contains("Program crashed: "), "\(handled.standardError)")
    #expect(try await victim.process().count == 1)
    let report = try #require(try victim.reports().first)
    Self.checkLines(handled, report.id)
    let text = TextReport.text(
      of: CrashReport(snapshot: try Victim.snapshot(of: report), symbolicating: false))
    #expect(text.contains("Swift's backtracer ran after the dump"), "\(text)")
    #expect(!text.contains("previous handler"), "\(text)")
  }

  /// The process survives a signal that was sent, but the dump is written before this is known.
  @Test(arguments: [BuildConfiguration.asTested, .staticDebug, .staticRelease])
  func withSwiftsLibrariesInsideItIsNamedInACrashThatIsSurvived(_ configuration: BuildConfiguration)
    async throws
  {
    let victim = try await Victim(configuration)
    let play = try await Play("segv-then-fault", by: victim, backtracer: true)
    #expect(play.handled.end == play.alone.end)
    let survival = try #require(play.snapshots.first?.survival)
    #expect(survival.previousHandlerIsBacktracer && survival.outcome != nil)
    let texts = play.snapshots.map {
      TextReport.text(of: CrashReport(snapshot: $0, symbolicating: false))
    }
    #expect(texts.allSatisfy { !$0.contains("previous handler") }, "\(texts)")
    #expect(texts.first?.contains("Swift's backtracer") == true, "\(texts)")
  }

  /// raise(3) returns from the backtracer, and abort(3) does not.
  @Test func anAbortAfterASignalOfTheSameNumberThatWasSurvived() async throws {
    let victim = try await Victim(.asTested)
    let play = try await Play("raise-then-abort", by: victim, backtracer: true)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.end.signal == SIGABRT)
    #expect(play.handled.standardOutput == "went on\n")
    #expect(play.snapshots.count == 2, "\(play.lines)")
    #expect(play.snapshots.first?.survival?.outcome != nil)
    #expect(play.snapshots.last?.survival?.outcome == nil)
  }

  @Test func noLineWhereTheSummaryIsOff() async throws {
    let victim = try await Victim(.asTested)
    let off = try await victim.die(
      "null-read", on: .main, options: ["--no-summary"], backtracer: true)
    #expect(off.standardError.contains("Program crashed: "))
    #expect(!off.standardError.contains("postmortem["))
    #expect(try await victim.process().count == 1)
  }
}
