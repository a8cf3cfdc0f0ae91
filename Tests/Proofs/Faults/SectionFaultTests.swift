import CrashHandler
import CrashTestSupport
import IntermediateDump
import ProcessSnapshot
import Testing

/// The handler's own code faults or never returns: the handler abandons that section, marks it, and continues
/// with the next one.
@Suite struct SectionFaultTests {
  /// A section of a dump, as the crash code names it.
  struct Part: Sendable, CustomTestStringConvertible {
    let section: Section
    var testDescription: String { symbol }

    static let all = Section.allCases.filter(\.isOfDump).map(Part.init)

    /// The function that writes it.
    var symbol: String { section.symbol }

    /// Its bit in `sectionsAbandoned`.
    var number: UInt64 { UInt64(section.entry.section.rawValue) }

    /// True for the section that lists the abandoned sections.
    var isCapture: Bool { section == .writeCapture }
  }

  private static let scene = Scene(kind: "abort")

  @Test(arguments: Part.all)
  func aSectionThatFaultsAtOnceAndInItsMiddle(_ section: Part) async throws {
    for steps in [0, 37, 400] {
      let run = try await InjectedRun(
        Self.scene, .faults([(section.symbol, steps)]))
      try check(run, section, hits: 1)
    }
  }

  @Test(arguments: Part.all)
  func aSecondFaultWhileTheFirstIsHandled(_ section: Part) async throws {
    let run = try await InjectedRun(
      Self.scene, .faults([(section.symbol, 20), ("pm_handle_crash", 0)]))
    try check(run, section, hits: 2)
  }

  @Test(arguments: Part.all)
  func aSecondFaultWhereTheFirstLandedAndAThird(_ section: Part) async throws {
    // The handler calls this function first after each fault; here it faults, too, twice.
    let recover = "IntermediateDump0aB6WriterV7recoveryyF"
    let run = try await InjectedRun(
      Self.scene, .faults([(section.symbol, 20), (recover, 3), (recover, 3)]))
    try check(run, section, hits: 3)
  }

  @Test(arguments: Part.all)
  func aSectionThatNeverEnds(_ section: Part) async throws {
    let run = try await InjectedRun(Self.scene, .hangs([section.symbol]))
    #expect(run.report.hits == [section.symbol])
    #expect(!run.report.isHung)
    #expect(run.report.end.signal == 6)
    if section.isCapture {
      // After the last section no time is left, so the dump has no end mark.
      #expect(run.keptWhatWasWritten && run.writtenDumps == 1)
    } else {
      try checkMarked(run, section)
    }
  }

  @Test(arguments: ["11endDocument", "5flush"])
  func theLastPartNeverEndsEither(_ function: String) async throws {
    let symbol = "IntermediateDump0aB6WriterV\(function)"
    let run = try await InjectedRun(Self.scene, .hangs(["pm_write_link_map", symbol]))
    #expect(run.report.hits.count == 2)
    #expect(!run.report.isHung)
    #expect(run.report.end.signal == 6)
    #expect(run.keptWhatWasWritten && run.writtenDumps == 1)
  }

  @Test func aFaultWhileTheFileIsCheckedItIsCheckedAgain() async throws {
    let prepare = "CrashHandler7CaptureV15prepareDumpFile"
    let run = try await InjectedRun(Self.scene, .faults([(prepare, 5), (prepare, 50)]))
    #expect(run.report.hits.count == 2)
    #expect(run.report.end.signal == 6)
    #expect(run.hasCompleteReport)
  }

  @Test func aFileThatIsNeverFoundToBeOursIsNotWrittenToAndTheEndIsTheSame() async throws {
    let run = try await InjectedRun(Self.scene, .hangs(["CrashHandler7CaptureV15prepareDumpFile"]))
    #expect(run.report.hits.count == 1)
    #expect(!run.report.isHung)
    #expect(run.report.end.signal == 6)
    #expect(run.writtenDumps == 0 && run.keptWhatWasWritten)
  }

  @Test func aFaultsSignalThatAnotherProcessSendsIsNoFaultOfTheHandlers() async throws {
    // The shell's parent is the injector, whose other child is the crashing process.
    let send = """
      for process in $(cat /proc/$PPID/task/*/children); do
        test $process = $$ || kill -SEGV $process
      done
      """
    // Disturbs the whole capture: the first eight calls, and one in five after them.
    let sweep = try await Sweep(Scene(kind: "abort", sleepers: 0))
    let indices = Set(1...8).union(sweep.calls(oneIn: 5).map(\.index)).sorted()
    let problems = try await sweep.run(
      indices.map { Disturbance.command(.crashing, $0, send) }
    ) { run, disturbance in
      guard case .command(_, let index, _) = disturbance else { return "no command" }
      if run.report.commands != 1 {
        return index > run.report.count(.crashing) ? nil : "it was not sent"
      }
      // After the dump is written, the signal may end the process, as it would without a handler.
      guard run.hasCompleteReport else { return "no report" }
      let abandoned = run.reports.snapshots.first?.capture.sectionsAbandoned ?? 0
      return abandoned == 0 ? nil : "abandoned \(abandoned)"
    }
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  private func check(_ run: InjectedRun, _ section: Part, hits: Int) throws {
    #expect(run.report.hits.count == hits)
    #expect(!run.report.isHung)
    #expect(run.report.end.signal == 6)
    #expect(run.hasCompleteReport)
    try checkMarked(run, section)
  }

  private func checkMarked(_ run: InjectedRun, _ section: Part) throws {
    #expect(run.hasCompleteReport)
    let capture = try #require(run.reports.snapshots.first).capture
    let abandoned = try #require(capture.sectionsAbandoned)
    #expect(abandoned >> section.number & 1 == 1, "\(capture)")
  }
}
