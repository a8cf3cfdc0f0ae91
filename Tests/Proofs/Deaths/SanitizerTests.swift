import CrashCatalogue
import CrashTestSupport
import Glibc
import ProcessSnapshot
import Testing

/// A program built with a sanitizer, whose handlers were there before ours: it still reports, and the end is still the same.
@Suite("With a sanitizer")
struct SanitizerTests {
  @Test(
    "The sanitizer still reports, the process ends alike, and there is a dump",
    arguments: Sanitizer.allCases, ["null-read", "abort", "fatal-error"])
  func chains(_ sanitizer: Sanitizer, _ kind: String) async throws {
    let crash = try #require(KnownCrash.debugged.first { $0.kind == kind })
    for place in CrashPlace.kinds {
      let victim = try await Victim(sanitizer)
      let alone = try await victim.dieAlone(kind, on: place)
      let handled = try await victim.die(kind, on: place)
      #expect(handled.end == alone.end, "\(place)")
      // Both leave SIGABRT and SIGILL to the kernel.
      for child in [alone, handled] {
        #expect(child.reports(sanitizer) == (kind == "null-read"), "\(child.standardError)")
      }
      let lines = try await victim.process()
      #expect(lines.count == 1 && lines.first?.hasSuffix(": complete") == true, "\(lines)")
      let report = try #require(try victim.reports().first)
      let exception = try #require(try Victim.snapshot(of: report).exception)
      #expect(exception.signal == crash.signal && exception.code == crash.code)
    }
  }

  @Test("A stack that overflows with AddressSanitizer", arguments: CrashPlace.kinds)
  func addressOverflow(_ place: CrashPlace) async throws {
    let victim = try await Victim(.address)
    let alone = try await victim.dieAlone("stack-overflow", on: place)
    let handled = try await victim.die("stack-overflow", on: place)
    #expect(handled.end == alone.end)
    #expect(handled.standardError.contains("AddressSanitizer: stack-overflow"))
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines.first?.hasSuffix(": complete") == true, "\(lines)")
  }

  /// Its own stack of calls has overflowed before, which the handler cannot run on.
  ///
  /// Over memory that differs from run to run: handled, half of the runs ended otherwise than alone. Other threads have no
  /// alternate stack, and the kernel ends the process.
  @Test("A stack that overflows with ThreadSanitizer", arguments: CrashPlace.kinds, 0..<4)
  func threadOverflow(_ place: CrashPlace, _ run: Int) async throws {
    let victim = try await Victim(.thread)
    let alone = try await victim.dieAlone("stack-overflow", on: place)
    let handled = try await victim.die("stack-overflow", on: place)
    #expect(handled.end == alone.end)
    #expect((place == .main) == handled.reports(.thread))
    #expect(handled.reports(.thread) == alone.reports(.thread))
    // The next start says that the process was ended, and has no dump of it.
    _ = try await victim.process()
    let snapshots = try victim.reports().map(Victim.snapshot(of:))
    #expect(snapshots.map { $0.exception?.signal } == [nil])
  }

  /// A survived crash that looks like a race would make ThreadSanitizer exit with 66.
  @Test(
    "Handlers that recover", arguments: Sanitizer.allCases,
    ["fix", "longjmp", "signal", "look", "sent", "threads", "abort", "raise", "many"])
  func recovers(_ sanitizer: Sanitizer, _ scene: String) async throws {
    let victim = try await Victim(sanitizer)
    let play = try await Play(scene, by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.standardOutput == play.alone.standardOutput)
    #expect(!play.handled.standardError.contains(sanitizer.name), "\(play.handled.standardError)")
    let reports = ["raise": 1, "many": 16][scene] ?? 2
    #expect(play.snapshots.count == reports, "\(play.lines)")
    #expect(play.lines.allSatisfy { $0.hasSuffix(": complete") }, "\(play.lines)")
  }

  @Test("A first-chance handler that takes its crashes", arguments: Sanitizer.allCases)
  func firstChance(_ sanitizer: Sanitizer) async throws {
    let victim = try await Victim(sanitizer)
    let handled = try await Play.takesItsCrashes(victim)
    #expect(!handled.standardError.contains(sanitizer.name), "\(handled.standardError)")
  }
}

extension ChildProcess {
  fileprivate func reports(_ sanitizer: Sanitizer) -> Bool {
    standardError.contains("ERROR: \(sanitizer.name): ")
  }
}
