import CrashCatalogue
import CrashTestSupport
import Foundation
import Glibc
import ProcessSnapshot
import Testing

/// The number of system calls of a crash, in an optimized program with shared libraries.
///
/// Unlike times, these numbers do not depend on the load of the machine.
@Suite(.needs(.strace), .serialized)
struct SystemCallTests {
  /// The upper bound for each thread that answers its stop signal: two files of /proc, each opened and read, a call
  /// that closes the files of four threads, and four calls with which the thread stops.
  static let perThread = 8.8
  /// The upper bound for a crash of one thread, with the summary on standard error.
  private static let fixed = 150

  @Test func eachThreadThatAnswersCosts8_8AtMost() async throws {
    let few = try await CountedCrash(sleepers: 15)
    let many = try await CountedCrash(sleepers: 127)
    let cost = Double(many.total - few.total) / 112
    let shares = Set(many.calls.keys).union(few.calls.keys).sorted().compactMap { name in
      let share = Double(many.calls[name, default: 0] - few.calls[name, default: 0]) / 112
      return abs(share) < 0.005 ? nil : "\(name) \(Self.text(share))"
    }
    Self.say("per thread", cost, shares.joined(separator: ", "))
    #expect(cost <= Self.perThread, "\(shares)")
  }

  @Test func aCrashOfOneThread() async throws {
    let crash = try await CountedCrash()
    let shares = crash.calls.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
      .map { "\($0.key) \($0.value)" }
    Self.say("fixed", Double(crash.total), shares.joined(separator: ", "))
    Self.say("for listed descriptors", Double(crash.ofDescriptors))
    #expect(crash.total <= Self.fixed, "\(shares)")
  }

  @Test func moreMappingsModulesAndDescriptorsCostLittleEach() async throws {
    let base = try await CountedCrash().total
    let mappings = try await CountedCrash(["--condition", "many-mappings"]).total
    let perMapping = Double(mappings - base) / 60_000
    Self.say("per 100 mappings", perMapping * 100)
    #expect(perMapping * 100 <= 2)
    let copies = try await VictimModules()
    let modules = try await CountedCrash(
      ["--condition", "many-modules"],
      environment: ["CRASHLAB_MODULE": copies.module, "CRASHLAB_MODULES": copies.directory]
    ).total
    let perModule = Double(modules - base) / 2000
    Self.say("per module", perModule)
    #expect(perModule <= 8)
    // The handler lists at most 256 descriptors. If there are more, one of them may be userfaultfd's, and the states of
    // pages are looked up before memory is read.
    let unlisted = try await CountedCrash(launcher: Self.opening(300))
    Self.say("for page states", Double(unlisted.total - base))
    #expect(unlisted.total - base <= 120)
    let descriptors = try await CountedCrash(launcher: Self.opening(800))
    let perDescriptor = Double(descriptors.total - unlisted.total) / 500
    Self.say("per open descriptor", perDescriptor)
    #expect(perDescriptor <= 0.02)
    let perListed = Double(descriptors.ofDescriptors) / 256
    Self.say("per listed descriptor", perListed)
    #expect(perListed > 1 && perListed <= 2)
  }

  @Test func aMainThreadThatHasEndedIsNotWaitedForAndIsInTheReport() async throws {
    let directory = try SharedDirectory()
    let database = directory.path + "/database"
    let trace = directory.path + "/trace"
    let racer = try Racer(
      "crash-lab", ["end", "main-thread", "--database", database],
      through: ["/usr/bin/strace", "-f", "-o", trace, "-e", "trace=futex,tgkill"])
    #expect(try racer.firstLine() == "main thread ended")
    let before = try String(contentsOfFile: trace, encoding: .utf8)
    let process = try #require(before.split(separator: " ").first.flatMap { pid_t($0) })
    #expect(kill(process, SIGSEGV) == 0)
    _ = try racer.lines()
    let lines = try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
    let crash = try #require(lines.firstIndex { $0.contains("--- SIGSEGV") })
    let waits = lines[crash...].filter { $0.contains("FUTEX_WAIT") }
    #expect(waits.count <= 2, "\(waits)")
    let reports = try ReportDirectory(database)
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let threads = try #require(reports.snapshots.first).threads
    #expect(threads.contains { $0.id == UInt32(process) && $0.state == "Z" })
  }

  /// A command that runs another one with more open descriptors.
  private static func opening(_ count: Int) -> [String] {
    let script = "for n in {20..\(19 + count)}; do eval \"exec $n</dev/null\"; done; exec \"$@\""
    return ["bash", "-c", script, "bash"]
  }

  private static func say(_ what: String, _ count: Double, _ shares: String = "") {
    print("system calls \(what): \(text(count))" + (shares.isEmpty ? "" : " (\(shares))"))
  }

  private static func text(_ count: Double) -> String { String(format: "%.2f", count) }
}
