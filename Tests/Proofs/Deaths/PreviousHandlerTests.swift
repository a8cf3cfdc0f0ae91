import CrashCatalogue
import CrashReportDatabase
import CrashTestSupport
import ProcessSnapshot
import Testing

/// Swift's own backtracer was there first: it still prints, and the end is still the same.
@Suite("With Swift's backtracer")
struct PreviousHandlerTests {
  @Test(
    "The backtracer still prints and the process still ends alike",
    arguments: ["null-read", "abort", "fatal-error", "divide-by-zero"], CrashPlace.kinds)
  func chains(_ kind: String, _ place: CrashPlace) async throws {
    let crash = try #require(KnownCrash.debugged.first { $0.kind == kind })
    let victim = try await Victim(.asTested)
    let alone = try await victim.dieAlone(kind, on: place, backtracer: true)
    let handled = try await victim.die(kind, on: place, backtracer: true)
    #expect(handled.end == alone.end)
    for child in [alone, handled] {
      #expect(child.standardError.contains(" crashed:"), "the backtracer did not run")
      // It follows frame pointers, which end in libc for abort.
      if kind != "abort" { #expect(child.standardError.contains(crash.function)) }
    }
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines.first?.hasSuffix(": complete") == true, "\(lines)")
    let report = try #require(try victim.reports().first)
    let exception = try #require(try Victim.snapshot(of: report).exception)
    #expect(exception.signal == crash.signal && exception.code == crash.code)
  }
}
