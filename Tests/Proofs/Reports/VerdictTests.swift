import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import PendingDumps
import ProcessSnapshot
import Testing

/// Two threads that die at the same instant, in random ways: each report tells of its own thread only.
@Suite("Verdicts of two crashes at once", .serialized)
struct VerdictTests {
  /// A way to die with the causes that are true of it, in builds of all kinds, and a part of the message
  /// that its runtime writes; nil where none does.
  private struct Death {
    let crash: String
    let causes: Set<String>
    var message: String?
    var isOfMain = false
  }

  private static let deaths = [
    Death(crash: "null-read", causes: ["null-dereference"]),
    Death(crash: "wild-pointer", causes: ["unmapped-memory"]),
    Death(crash: "builtin-trap", causes: ["trap-instruction"]),
    Death(crash: "integer-overflow", causes: ["swift-integer-overflow"]),
    Death(crash: "abort", causes: ["abort"]),
    Death(crash: "assert", causes: ["c-assertion"], message: "Assertion `"),
    Death(crash: "double-free", causes: ["heap-corruption"], message: "free(): "),
    Death(crash: "fatal-error", causes: ["swift-fatal-error"], message: "crash-lab says goodbye"),
    Death(
      crash: "precondition", causes: ["swift-precondition"], message: "crash-lab wants a two"),
    Death(crash: "forced-cast", causes: ["swift-failed-cast"], message: "Could not cast value"),
    Death(crash: "try-bang", causes: ["swift-uncaught-error"], message: "'try!' expression"),
    Death(
      crash: "uncaught-error", causes: ["swift-uncaught-error"],
      message: "Error raised at top level", isOfMain: true),
  ]

  /// The one whose function stands on the crashing thread's stack.
  private static func death(of report: CrashReport, among deaths: [Death]) -> Death? {
    let functions = report.threads.first { $0.crashed }?.frames.compactMap(\.function) ?? []
    return deaths.first { death in
      let name = "crash_" + death.crash.replacing("-", with: "_")
      return functions.contains { $0.contains(name) }
        || death.isOfMain && functions.contains { $0.contains("rrorInMain") }
    }
  }

  @Test func tellOfTheThreadThatCrashed() async throws {
    let environment = ProcessInfo.processInfo.environment
    let count = environment["POSTMORTEM_VERDICTS"].flatMap { Int($0) } ?? 24
    var generator = SystemRandomNumberGenerator()
    for number in 0..<count {
      let first = try #require(Self.deaths.randomElement(using: &generator))
      let second = try #require(
        Self.deaths.filter { !$0.isOfMain }.randomElement(using: &generator))
      let place: CrashPlace = first.isOfMain || number % 2 == 0 ? .main : .pthread
      let victim = try await Victim(.asTested)
      _ = try await victim.die(first.crash, on: place, options: ["--and", second.crash])
      let snapshot = try CauseTests.snapshot(inDatabase: victim.database)
      let report = CrashReport(snapshot: snapshot, symbolicating: true)
      let scene = "\(first.crash) on \(place) and \(second.crash)"
      let death = try #require(Self.death(of: report, among: [first, second]), "\(scene)")
      let cause = try #require(report.cause, "\(scene)")
      // Two may have written over each other's text: it is not taken then, and the trap or abort is said.
      let isWithoutText = death.message != nil && report.message == nil
      let allowed = death.causes.union(isWithoutText ? ["trap-instruction", "abort"] : [])
      #expect(allowed.contains(cause.kind), "\(scene): \(cause.kind) of \(death.crash)")
      if let message = report.message, cause.certainty == .certain {
        #expect(message.contains(death.message ?? "\u{0}"), "\(scene): \(message)")
      }
    }
  }
}
