import CrashReportDatabase
import CrashTestSupport
import ProcessSnapshot
import Testing

/// The kinds that `FaithfulDeathTests` and `StackOverflowTests` leave out, without debuggers: the same end, and one complete report.
@Suite("Other ways to die")
struct OtherKindsTests {
  struct Kind: Sendable, CustomTestStringConvertible {
    let name: String
    let signal: Int32
    var places = CrashPlace.kinds
    var testDescription: String { name }
  }

  static let kinds: [Kind] = [
    Kind(name: "null-write", signal: 11),
    Kind(name: "null-call", signal: 11),
    Kind(name: "non-canonical", signal: 11),
    Kind(name: "write-to-code", signal: 11),
    Kind(name: "freed-page", signal: 11),
    Kind(name: "prot-none", signal: 11),
    Kind(name: "misaligned", signal: 7),
    Kind(name: "builtin-trap", signal: 4),
    Kind(name: "assert", signal: 6),
    Kind(name: "stack-smash", signal: 6),
    Kind(name: "cxx-exception", signal: 6),
    Kind(name: "pure-virtual", signal: 6),
    Kind(name: "continuation", signal: 4, places: [.task]),
    Kind(name: "precondition", signal: 4),
    Kind(name: "unwrap-nil", signal: 4),
    Kind(name: "integer-overflow", signal: 4),
    Kind(name: "forced-cast", signal: 6),
    Kind(name: "unowned-after-free", signal: 6),
    Kind(name: "exclusivity", signal: 6),
    Kind(name: "try-bang", signal: 4),
    Kind(name: "uncaught-error", signal: 4, places: [.main]),
    Kind(name: "main-actor", signal: 4, places: [.pthread, .dispatch, .task]),
    Kind(name: "deep", signal: 11),
    Kind(name: "cpu-limit", signal: 24, places: [.main, .pthread]),
    Kind(name: "file-size-limit", signal: 25, places: [.main, .pthread]),
    Kind(name: "pipe", signal: 13),
    Kind(name: "sent-segv", signal: 11, places: [.main]),
    Kind(name: "sent-abort", signal: 6, places: [.main]),
    Kind(name: "sent-quit", signal: 3, places: [.main]),
  ]

  @Test("The same end and one complete report", arguments: kinds, BuildConfiguration.dynamic)
  func end(_ kind: Kind, _ configuration: BuildConfiguration) async throws {
    for place in kind.places {
      let victim = try await Victim(configuration)
      let alone = try await victim.dieAlone(kind.name, on: place)
      let handled = try await victim.die(kind.name, on: place)
      #expect(alone.end.signal == kind.signal, "\(place)")
      #expect(handled.end == alone.end, "\(place)")
      let lines = try await victim.process()
      #expect(lines.count == 1 && lines.first?.hasSuffix(": complete") == true, "\(place) \(lines)")
      let report = try #require(try victim.reports().first)
      let snapshot = try Victim.snapshot(of: report)
      #expect(snapshot.exception?.signal == kind.signal, "\(place)")
      #expect(snapshot.crashedThread != nil, "\(place)")
      if kind.name.hasPrefix("sent-") {
        // SI_USER: sent, not a fault, so there is no address.
        #expect(snapshot.exception?.code == 0)
        #expect(snapshot.exception?.address == nil)
      }
    }
  }

  @Test("The list of the victim's kinds is tested whole")
  func nothingForgotten() async throws {
    let victim = try await Victim(.asTested)
    let list = try await victim.run(["--list"], in: "list")
    let names = list.standardOutput.split(separator: "\n").compactMap {
      $0.split(separator: " ").first
    }
    let quiet = ["exit", "quick-exit", "killed"]
    let tested =
      Self.kinds.map(\.name) + KnownCrash.all.map(\.kind) + StackOverflowTests.kinds + quiet
    #expect(Set(names.map(String.init)) == Set(tested))
  }
}
