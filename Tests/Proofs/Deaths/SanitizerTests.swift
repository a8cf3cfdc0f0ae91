import CrashCatalogue
import CrashTestSupport
import Foundation
import Glibc
import ProcessSnapshot
import Testing

/// In a program that was built with a sanitizer, the sanitizer still reports, and the process ends in the same way as
/// without the handler.
@Suite struct SanitizerTests {
  @Test(arguments: ["null-read", "abort", "fatal-error"])
  func addressSanitizerStillReportsTheProcessEndsAlikeAndThereIsADump(_ kind: String) async throws {
    let crash = try #require(KnownCrash.debugged.first { $0.kind == kind })
    for place in CrashPlace.kinds {
      let victim = try await Victim(.address)
      let alone = try await victim.dieAlone(kind, on: place)
      let handled = try await victim.die(kind, on: place)
      #expect(handled.end == alone.end, "\(place)")
      // AddressSanitizer does not handle SIGABRT and SIGILL.
      for child in [alone, handled] {
        #expect(child.reports(.address) == (kind == "null-read"), "\(child.standardError)")
      }
      let lines = try await victim.process()
      #expect(lines.count == 1 && lines.first?.tellsAWholeDump == true, "\(lines)")
      let report = try #require(try victim.reports().first)
      let exception = try #require(try Victim.snapshot(of: report).exception)
      #expect(exception.signal == crash.signal && exception.code == crash.code)
    }
  }

  @Test(arguments: CrashPlace.kinds)
  func aStackThatOverflowsWithAddressSanitizer(_ place: CrashPlace) async throws {
    let victim = try await Victim(.address)
    let alone = try await victim.dieAlone("stack-overflow", on: place)
    let handled = try await victim.die("stack-overflow", on: place)
    #expect(handled.end == alone.end)
    #expect(handled.standardError.contains("AddressSanitizer: stack-overflow"))
    let lines = try await victim.process()
    #expect(lines.count == 1 && lines.first?.tellsAWholeDump == true, "\(lines)")
  }

  @Test(arguments: [
    "fix", "longjmp", "signal", "look", "sent", "threads", "abort", "raise", "many",
  ])
  func handlersThatRecoverWithAddressSanitizer(_ scene: String) async throws {
    let victim = try await Victim(.address)
    let play = try await Play(scene, by: victim)
    #expect(play.handled.end == play.alone.end)
    #expect(play.handled.standardOutput == play.alone.standardOutput)
    let log = play.handled.standardError
    #expect(!log.contains("AddressSanitizer"), "\(log)")
    let reports = ["abort": 1, "raise": 1, "many": 16][scene] ?? 2
    #expect(play.snapshots.count == reports, "\(play.lines)")
    #expect(play.lines.allSatisfy { $0.tellsAWholeDump }, "\(play.lines)")
  }

  @Test func aFirstChanceHandlerThatTakesItsCrashesWithAddressSanitizer() async throws {
    let victim = try await Victim(.address)
    let handled = try await Play.takesItsCrashes(victim)
    #expect(!handled.standardError.contains("AddressSanitizer"), "\(handled.standardError)")
  }

  /// Leaves out faults and double frees, which the sanitizer finds itself.
  @Test(
    arguments: LegalUse.all.filter {
      ["masks", "aborts", "waits"].contains($0.family)
        && !$0.name.contains("heap") && !$0.name.contains("fault")
        && $0.name != "masks-older-functions"
    })
  func withAddressSanitizerMasksAreAsAlone(_ use: LegalUse) async throws {
    let failures = try await use.failures(try await Victim(.address).executable)
    #expect(failures.isEmpty, "\(failures.joined(separator: "\n"))")
  }

  /// The program has a data race.
  ///
  /// The sanitizer reports it, which shows that its own `pthread_create` made the threads: it knows no others.
  @Test func withThreadSanitizerTheHandlerSaysThatItIsNotInstalledAndChangesNothing() async throws {
    let victim = try await Victim(.thread)
    let alone = try await victim.run(["data-race", "--no-handler"], in: "alone")
    let handled = try await victim.run(["data-race", "--database", victim.database], in: "handled")
    #expect(handled.end.signal == SIGABRT)
    #expect(alone.end == handled.end)
    for child in [alone, handled] {
      #expect(child.standardOutput.contains("raced without a handler"))
      #expect(
        child.standardError.contains("WARNING: ThreadSanitizer: data race")
          || child.standardError.contains("WARNING: ThreadSanitizer: Swift access race"),
        "\(child.standardError)")
    }
    #expect(handled.standardError.contains("could not be installed: this program is built with"))
    #expect(!FileManager.default.fileExists(atPath: victim.database))
  }
}

extension ChildProcess {
  fileprivate func reports(_ sanitizer: Sanitizer) -> Bool {
    standardError.contains("ERROR: \(sanitizer.name): ")
  }
}
