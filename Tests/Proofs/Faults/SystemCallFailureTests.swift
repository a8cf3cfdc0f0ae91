import CrashTestSupport
import Testing

/// System calls of the handler fail, and the process is killed between them.
///
/// By default, every call of one scene fails with one error each, and some calls of the other scenes. With
/// `POSTMORTEM_FAULTS=all`, every call of every scene fails with every error, which takes a quarter of an hour on
/// two processors.
@Suite struct SystemCallFailureTests {
  /// write(2): the only call whose permanent failure loses the dump.
  private static var write: Int {
    #if arch(x86_64)
      1
    #else
      64
    #endif
  }

  /// rt_sigreturn(2).
  private static var signalReturn: Int {
    #if arch(x86_64)
      15
    #else
      139
    #endif
  }

  private static func stride(_ scene: Scene, _ first: Int, _ others: Int) -> Int {
    scene == Scene.all[0] ? first : others
  }

  @Test(arguments: Scene.all)
  func oneFailedCallChangesNeitherTheEndNorThatThereIsAReport(_ scene: Scene) async throws {
    let sweep = try await Sweep(scene)
    let calm = sweep.calm
    #expect(calm.hasCompleteReport)
    #expect(calm.report.count(.crashing) > 80)
    #expect((calm.report.count(.other) > 0) == (scene.sleepers > 0))
    let disturbances = sweep.calls(oneIn: Self.stride(scene, 1, 6)).enumerated()
      .flatMap { turn, call in
        sweep.errors(turn).map { Disturbance.failure(call.role, call.index, errno: $0) }
      }
    #expect(disturbances.count > 15)
    let problems = try await sweep.run(disturbances) { run, disturbance in
      guard case .failure(let role, let index, _) = disturbance else { return "no failure" }
      // The order of calls depends on the threads' timing. The injector never fails rt_sigreturn, which is the last
      // call and follows each tick of the watchdog.
      let call = run.report.calls.first { $0.role == role && $0.index == index }
      if run.report.failures != 1, index < run.report.count(role) - 8,
        call?.number != Self.signalReturn
      {
        return "it did not fail"
      }
      return Self.problem(run, calm, mayLoseDump: false)
    }
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  @Test(arguments: Scene.all)
  func aCallThatFailsForGoodChangesNoEnd(_ scene: Scene) async throws {
    let sweep = try await Sweep(scene)
    let calm = sweep.calm
    // The first call of each system call, in either role.
    var seen: Set<String> = []
    let firsts = calm.report.calls.filter { call in
      seen.insert("\(call.role) \(call.number)").inserted
    }
    let disturbances = firsts.enumerated().flatMap { turn, call in
      sweep.errors(turn).map {
        Disturbance.failures(call.role, from: call.index, numbers: [call.number], errno: $0)
      }
    }
    #expect(disturbances.count > 20)
    let problems = try await sweep.run(disturbances) { run, disturbance in
      guard case .failures(_, _, let numbers, _) = disturbance else { return "no failures" }
      return Self.problem(run, calm, mayLoseDump: numbers == [Self.write])
    }
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }

  private static func problem(
    _ run: InjectedRun, _ calm: InjectedRun, mayLoseDump: Bool
  ) -> String? {
    if run.report.isHung { return "hung" }
    if run.report.end != calm.report.end { return "\(run.report.end), not \(calm.report.end)" }
    if run.hasCompleteReport || mayLoseDump && run.keptWhatWasWritten { return nil }
    return "\(run.reports.processed) \(run.reports.leftovers)"
  }

  @Test(arguments: Scene.all)
  func whatWasWrittenBeforeTheProcessWasKilledIsOneReport(_ scene: Scene) async throws {
    let sweep = try await Sweep(scene)
    let calls = sweep.calls(oneIn: Self.stride(scene, 2, 10))
    let disturbances =
      [Disturbance.kill(.crashing, 1, isBefore: true)]
      + calls.map { Disturbance.kill($0.role, $0.index) }
    #expect(disturbances.count > 10)
    let calm = sweep.calm
    let problems = try await sweep.run(disturbances) { run, _ in
      // After its last call, the crash may end before the kill.
      guard run.report.end.signal == 9 || run.report.end == calm.report.end else {
        return "\(run.report.end)"
      }
      return run.keptWhatWasWritten ? nil : "\(run.reports.processed) \(run.reports.leftovers)"
    }
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }
}
