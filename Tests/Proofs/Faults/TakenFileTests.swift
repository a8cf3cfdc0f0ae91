import CrashTestSupport
import Testing

/// A converter wrongly assumes, because of a file's age, that the process is dead while its crash is still being
/// written.
@Suite struct TakenFileTests {
  private static let pending = "DATABASE/pending-serialized-dumps"

  /// What a converter does to the files of a run that left no dump.
  private static let remove = "rm -f \(pending)/*.locked \(pending)/*.run \(pending)/*.fifo"

  /// A converter's first step for every file: it renames the file, with everything that is already written.
  private static let claim = """
    for file in \(pending)/*.locked; do
      test ! -e "$file" || mv "$file" "${file%.locked}.1-0-0-0.claimed"
    done
    """

  @Test(arguments: [remove, claim])
  func itIsOneCompleteReportWheneverThatHappens(_ command: String) async throws {
    let sweep = try await Sweep(Scene.all[0])
    let calls = sweep.calls(oneIn: 6).filter { $0.role == .crashing }
    #expect(calls.count > 15)
    // With the first calls, the handler finds out which file is its own.
    let indices = Set(1...12).union(calls.map(\.index)).sorted()
    let problems = try await sweep.run(
      indices.map { Disturbance.command(.crashing, $0, command) }
    ) { run, disturbance in
      guard case .command(_, let index, _) = disturbance else { return "no command" }
      if run.report.commands != 1 {
        // Waits and the watchdog's ticks change the number of calls from run to run.
        return index > run.report.count(.crashing) ? nil : "it was not taken"
      }
      if run.report.end != sweep.calm.report.end { return "\(run.report.end)" }
      return run.hasCompleteReport
        ? nil : "\(run.reports.processed) \(run.reports.leftovers)"
    }
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }
}
