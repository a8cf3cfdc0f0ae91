import CrashTestSupport
import Testing

/// A converter takes the process for dead while its crash is written: wrongly, by the rules of age.
@Suite struct TakenFileTests {
  private static let pending = "DATABASE/pending-serialized-dumps"

  /// What a converter does with the file of a run that left no dump.
  private static let remove = "rm -f \(pending)/*.locked \(pending)/*.run \(pending)/*.fifo"

  /// What it does first with every file: it lies under another name then, with all that is written.
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
    // The first calls are those that decide which file it is.
    let indices = Set(1...12).union(calls.map(\.index)).sorted()
    let problems = try await sweep.run(
      indices.map { Disturbance.command(.crashing, $0, command) }
    ) { run, disturbance in
      guard case .command(_, let index, _) = disturbance else { return "no command" }
      if run.report.commands != 1 {
        // Waiting and the watchdog's ticks make more calls in one run than in another.
        return index > run.report.count(.crashing) ? nil : "it was not taken"
      }
      if run.report.end != sweep.calm.report.end { return "\(run.report.end)" }
      return run.hasCompleteReport
        ? nil : "\(run.reports.processed) \(run.reports.leftovers)"
    }
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }
}
