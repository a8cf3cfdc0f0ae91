import CrashAnalysis
import CrashCatalogue
import CrashReport
import CrashTestSupport
import Foundation
import IntermediateDump
import PendingDumps
import ProcessSnapshot
import Testing

/// Two threads crash at the same instant, in random ways, on threads and in builds of random kinds: each report
/// describes only the thread that it names.
@Suite(.serialized)
struct VerdictTests {
  /// A kind of crash and its true cause, the same in all builds.
  private struct Death {
    let crash: String
    let cause: String
    /// A part of the message that the runtime writes; nil if the runtime writes none.
    let message: String?
    /// A part of the name of the crashing function.
    let function: String
    var isOfMain: Bool { crash == "uncaught-error" }
  }

  /// The kinds whose cause depends only on the crashing thread: on any kind of thread, or thrown out of main.
  private static let deaths: [Death] = KnownCrash.all.compactMap { known in
    guard known.isOnItsThread, !known.overflowsStack, let cause = known.causes.first,
      known.places.contains(.earlierWorker) || known.places == [.main]
    else { return nil }
    // If main throws, the crashing function is the runtime's own.
    let function = known.kind == "uncaught-error" ? "rrorInMain" : known.function
    return Death(crash: known.kind, cause: cause.kind, message: cause.message, function: function)
  }

  /// The crash whose function is on the crashing thread's stack.
  private static func death(of report: CrashReport, among deaths: [Death]) -> Death? {
    let functions = report.threads.first { $0.crashed }?.frames.compactMap(\.function) ?? []
    return deaths.first { death in functions.contains { $0.contains(death.function) } }
  }

  @Test func thereAreWaysToDieOfEverySignalThatAThreadCauses() {
    let signals = Self.deaths.compactMap { death in
      KnownCrash.all.first { $0.kind == death.crash }?.signal
    }
    #expect(Set(signals) == [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGPIPE])
  }

  @Test func tellOfTheThreadThatCrashed() async throws {
    let environment = ProcessInfo.processInfo.environment
    let count = environment["POSTMORTEM_VERDICTS"].flatMap { Int($0) } ?? 24
    var generator = SystemRandomNumberGenerator()
    for number in 0..<count {
      let builds = BuildConfiguration.allCases
      let build = builds[number % builds.count]
      let first = try #require(Self.deaths.randomElement(using: &generator))
      let second = try #require(
        Self.deaths.filter { !$0.isOfMain }.randomElement(using: &generator))
      let place: CrashPlace =
        first.isOfMain ? .main : CrashPlace.allCases.randomElement(using: &generator) ?? .main
      let victim = try await Victim(build)
      _ = try await victim.die(first.crash, on: place, options: ["--and", second.crash])
      let scene = "\(first.crash) on \(place) and \(second.crash), \(build)"
      let report = CrashReport(
        snapshot: try CauseTests.snapshot(inDatabase: victim.database), symbolicating: true)
      let death = Self.death(of: report, among: [first, second])
      guard let death, let cause = report.cause else {
        Issue.record(
          "\(scene): no cause, or a stack without either\n\(TextReport.text(of: report))")
        continue
      }
      // Both threads may have overwritten each other's message, and optimized checks write none. The report then
      // has no message, and the cause is the trap or abort.
      let isWithoutText = death.message != nil && report.message == nil
      let allowed = [death.cause] + (isWithoutText ? ["trap-instruction", "abort"] : [])
      #expect(
        allowed.contains(cause.kind),
        "\(scene): \(cause.kind) of \(death.crash)\n\(TextReport.text(of: report))")
      if let message = report.message, cause.certainty == .certain {
        #expect(message.contains(death.message ?? "\u{0}"), "\(scene): \(message)")
      }
      let signature = report.signature ?? ""
      #expect(!signature.contains(/\+0x|T[YQ][0-9]|specialization/), "\(scene): \(signature)")
    }
  }
}
