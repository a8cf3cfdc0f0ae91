internal import CrashCatalogue
internal import CrashTestSupport
internal import Foundation

/// Runs the catalogue of crashes, whole or in part, and writes its table.
@main
struct CatalogueTool {
  static func main() async throws {
    let command: CatalogueCommand
    do {
      command = try CatalogueCommand(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(
        Data("catalogue: \(error)\n\n\(CatalogueCommand.usage)\n".utf8))
      exit(EX_USAGE)
    }
    if command.asksForHelp { return print(CatalogueCommand.usage) }
    if let kills = command.kills { return try await soak(kills: kills, command) }
    let started = Date()
    let run = try await CatalogueRun()
    let results = CatalogueResults()
    for round in 0..<command.rounds {
      let cases = command.cases(round: round)
      await run.run(cases, width: command.width) { outcome in
        results.add(outcome)
        if results.runs % 500 == 0 { say("\(results.runs) runs, \(results.failed) failed") }
        for failure in outcome.failures {
          say("swift run catalogue \(outcome.testCase)\n    \(failure)")
        }
      }
      let seconds = Int(Date().timeIntervalSince(started))
      say("round \(round + 1): \(results.runs) runs, \(results.failed) failed, \(seconds) s")
      // After each: a run of hours may be ended before its last.
      guard let table = command.table else { continue }
      let page = CatalogueTable(
        results: results, command: command.text, rounds: round + 1, started: started)
      try page.text.write(toFile: table, atomically: true, encoding: .utf8)
    }
    for (testCase, seconds) in results.slowest(5) {
      say("\(String(format: "%.1f", seconds)) s: \(testCase)")
    }
    exit(results.failed == 0 ? 0 : 1)
  }

  /// Kills captures, and says what was left of them.
  private static func soak(kills: Int, _ command: CatalogueCommand) async throws {
    let seed = command.seed
    say("seed \(seed)")
    var soak = try await KillSoak(build: command.build, threads: command.threads, seed: seed)
    while soak.tally.runs < kills {
      let failures = soak.tally.failures.count
      try soak.runOnce()
      for failure in soak.tally.failures.dropFirst(failures) { say(failure) }
      if soak.tally.runs % 500 == 0 { say(soak.tally.line) }
    }
    say(soak.tally.line)
    let isKept = soak.tally.tornWithStack * 100 >= soak.tally.torn * 99
    exit(soak.tally.failures.isEmpty && isKept ? 0 : 1)
  }

  /// Written at once: a run of an hour is watched as it goes.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}
