internal import CrashCatalogue
internal import CrashTestSupport
internal import Foundation

/// Runs the catalogue of crashes, whole or in part, and prints its table.
struct CatalogueTool {
  /// The number of crashes that were run, and the number that failed.
  struct Tally {
    var runs = 0
    var failed = 0
  }

  /// - Throws: `CatalogueUsageError` if the options are not valid.
  static func run(_ arguments: [String]) async throws -> Tally {
    let command = try CatalogueCommand(arguments)
    if command.asksForHelp {
      print(CatalogueCommand.usage)
      return Tally()
    }
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
          say("swift run proofs catalogue \(outcome.testCase)\n    \(failure)")
        }
      }
      let seconds = Int(Date().timeIntervalSince(started))
      say("round \(round + 1): \(results.runs) runs, \(results.failed) failed, \(seconds) s")
      let table = CatalogueTable(
        results: results, command: command.text, rounds: round + 1, started: started)
      // Write the page after each round, because a run that takes hours may be stopped early.
      if let path = command.page {
        try table.page.write(toFile: path, atomically: true, encoding: .utf8)
      }
      if command.isFull, round + 1 == command.rounds { say("\n" + table.text) }
    }
    for (testCase, seconds) in results.slowest(5) {
      say("\(String(format: "%.1f", seconds)) s: \(testCase)")
    }
    return Tally(runs: results.runs, failed: results.failed)
  }

  /// Kills captures, and prints which files were left.
  private static func soak(kills: Int, _ command: CatalogueCommand) async throws -> Tally {
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
    return Tally(runs: soak.tally.runs, failed: soak.tally.failures.count + (isKept ? 0 : 1))
  }

  /// Writes a line at once, so that a run of an hour can be watched.
  private static func say(_ line: String) {
    FileHandle.standardOutput.write(Data((line + "\n").utf8))
  }
}
