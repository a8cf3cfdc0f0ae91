import CrashConverter
import CrashTestSupport
import Foundation
import Glibc
import IntermediateDump
import ProcessSnapshot
import Testing

/// Many runs that end in every way, in one database: each verdict is true, and runs that ended normally have
/// none.
///
/// The number of runs is small, or POSTMORTEM_END_RUNS.
@Suite struct MixedEndTests {
  private struct Way {
    let name: String
    /// The signals to send once the victim waits, and the pause before each.
    var signals: [Int32] = []
    var pause: UInt32 = 0
    /// The verdicts that are correct for it; empty if no report is correct.
    var verdicts: [RunEnd.Kind] = []
  }

  private static let ways = [
    Way(name: "exit"), Way(name: "return"), Way(name: "_exit"), Way(name: "_Exit"),
    Way(name: "quick_exit"), Way(name: "thread-exit"), Way(name: "fork-_exit"),
    Way(name: "fork-orphan"), Way(name: "daemon"), Way(name: "close-all"),
    Way(name: "no-file-size"), Way(name: "note-exit"), Way(name: "abort"),
    Way(name: "wait", signals: [SIGTERM]), Way(name: "wait", signals: [SIGINT]),
    Way(name: "wait", signals: [SIGHUP]), Way(name: "handles-term", signals: [SIGTERM]),
    Way(name: "wait", signals: [SIGKILL], verdicts: [.unexplained]),
    Way(name: "ignores-term", signals: [SIGTERM, SIGKILL], verdicts: [.unexplained]),
    Way(name: "slow-term", signals: [SIGTERM, SIGKILL], pause: 20_000, verdicts: [.stopTimeout]),
    Way(name: "heartbeat", signals: [SIGKILL], verdicts: [.unexplained]),
    Way(name: "exec-self", signals: [SIGKILL], verdicts: [.replaced, .unexplained]),
  ]

  @Test func noVerdictIsFalse() throws {
    let directory = try EndDirectory()
    let count =
      ProcessInfo.processInfo.environment["POSTMORTEM_END_RUNS"].flatMap(Int.init) ?? 44
    var expected: [String] = []
    var last = 0
    for number in 0..<count {
      let way = Self.ways[number % Self.ways.count]
      let victim = try EndingVictim(directory.database, way.name)
      if !way.signals.isEmpty { try #require(victim.waitForLine("waiting"), "\(way.name)") }
      for signal in way.signals {
        usleep(way.pause)
        victim.signal(signal)
        if signal == SIGTERM, way.signals.count > 1, way.name == "slow-term" {
          try #require(victim.waitForLine("noted"))
        }
      }
      victim.end()
      expected += way.verdicts.map { "\(victim.processID) \($0)" }
      // Converts at irregular intervals, so that conversions meet runs in different states.
      if number % 7 == 6 || number == count - 1 {
        _ = try directory.process()
        last = number
      }
    }
    #expect(last == count - 1)
    let found = try directory.ends().map { end in
      "\(end.snapshot.process.processID ?? 0) \(end.end.kind.map { "\($0)" } ?? "?")"
    }
    #expect(found.sorted() == expected.sorted())
    #expect(directory.pending.filter { $0.hasSuffix(".locked") } == [])
  }
}
