import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashTestSupport
import ProcessSnapshot
import Testing

/// The open contexts of a program that knows which it has open; `swift run proofs work` tests 100,000.
@Suite struct InFlightTests {
  @Test(arguments: [0, 1, 1000])
  func theyAreThoseThatTheProgramHas(_ count: Int) async throws {
    let directory = try TemporaryDirectory()
    let victim = try await InFlightVictim(
      executable: try BuiltProducts.besideTests("crash-lab"), count: count, in: directory.path)
    #expect(victim.failures == [])
    let report = CrashReport(snapshot: victim.snapshot, symbolicating: false)
    let text = TextReport.text(of: report)
    let lines = text.split(separator: "\n").filter { $0.hasPrefix("In flight") }
    #expect(lines.count == (count == 0 ? 0 : 1), "\(text)")
    if count == 1 {
      #expect(text.contains(/In flight \(1; oldest [0-9.]+ m?s\):\n/), "\(text)")
      #expect(
        text.contains(/\n  [0-9.]+ m?s: request-id=request-0 user=user-0 part=part-0\n/), "\(text)")
      #expect(HTMLReport.text(of: report).contains("request-id=request-0 user=user-0 part=part-0"))
    }
    if count == 1000 {
      #expect(text.contains("In flight (1,000; oldest "), "\(text)")
      #expect(text.contains(/\n  [0-9]+ of them are not listed\n/), "\(text)")
    }
  }

  /// The contexts of the parent belong to threads that the child does not have; 600 are more than the table has entries.
  @Test(arguments: [3, 600])
  func aForkedChildHasOnlyThoseThatItOpenedItself(_ count: Int) async throws {
    let directory = try TemporaryDirectory()
    let victim = try await InFlightVictim(
      executable: try BuiltProducts.besideTests("crash-lab"), count: count, isForked: true,
      in: directory.path)
    let open = try #require(victim.snapshot.client.openContexts)
    #expect(open.count == 1 && open.nestedOmittedCount == 0)
    #expect(open.contexts.flatMap { $0.values.map { "\($0.name)=\($0.value)" } } == ["child=own"])
  }

  @Test func aProcessThatWasKilledHadThemAtItsLastHeartbeat() async throws {
    let directory = try TemporaryDirectory()
    let victim = try await InFlightVictim(
      executable: try BuiltProducts.besideTests("crash-lab"), count: 30, isKilled: true,
      in: directory.path)
    let open = try #require(victim.snapshot.client.openContexts)
    #expect(open.count == 30 && open.contexts.count == 1)
    #expect(open.contexts[0].values.map(\.value) == ["request-0", "user-0"])
    let report = CrashReport(snapshot: victim.snapshot, symbolicating: false)
    let text = TextReport.text(of: report)
    #expect(text.contains("In flight at the last heartbeat (30; oldest "), "\(text)")
  }
}
