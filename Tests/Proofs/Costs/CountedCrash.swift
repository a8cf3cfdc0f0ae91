import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// A crash under strace(1), and the system calls from its signal on.
struct CountedCrash {
  /// The number of each, by name.
  let calls: [String: Int]

  /// All but those for listed descriptors.
  var total: Int { calls.values.reduce(0, +) - ofDescriptors }

  /// Those for the listed descriptors: the link of each, and the flags of those that have a path.
  ///
  /// Two links are no descriptors': `/etc/localtime` and the working directory.
  var ofDescriptors: Int { calls["readlinkat", default: 0] - 2 + calls["F_GETFL", default: 0] }

  /// Runs crash-lab, optimised, through a null read.
  ///
  /// - Parameters:
  ///   - sleepers: threads beside the one that crashes.
  ///   - launcher: what runs it, before its path.
  init(
    sleepers: Int = 0, _ more: [String] = [], environment: [String: String] = [:],
    launcher: [String] = []
  ) async throws {
    let directory = try TemporaryDirectory()
    let strace = try #require(OutsideTool.strace.path)
    let victim = try await BuiltProducts.shared.executable("crash-lab", .release)
    let trace = directory.path + "/trace"
    let child = try await ChildProcess.run(
      strace,
      ["-f", "-qq", "-s", "0", "-o", trace] + launcher + [
        victim, "null-read", "--database", directory.path + "/database", "--threads",
        "\(sleepers)",
      ] + more, in: try directory.subdirectory("run"), environment: environment)
    #expect(child.end.signal == 11)
    let text = try String(contentsOfFile: trace, encoding: .utf8)
    calls = Self.count(text)
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let threads = try #require(reports.snapshots.first).threads
    #expect(threads.count > sleepers)
    #expect(threads.allSatisfy { $0.context != nil && !$0.stack.isEmpty })
  }

  /// Counts those of a trace.
  init(trace: String) { calls = Self.count(trace) }

  /// Leaves out what depends on how long the crash takes, which under strace is a hundred times as
  /// long: the ticks of the handler's timer, and looks at threads that have not answered for 10 ms.
  private static func count(_ trace: String) -> [String: Int] {
    var calls: [String: Int] = [:]
    var ticking: Set<Substring> = []
    var hasCrashed = false
    for line in trace.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1)
      guard let thread = words.first, let rest = words.last else { continue }
      let event = rest.drop { $0 == " " }
      if event.hasPrefix("--- ") {
        if event.hasPrefix("--- SIGSEGV") { hasCrashed = true }
        if event.contains("SI_TIMER") { ticking.insert(thread) }
        continue
      }
      guard hasCrashed, let match = event.prefixMatch(of: /([a-z0-9_]+)\(/) else { continue }
      let name = String(match.1)
      if ticking.contains(thread) {
        if name == "rt_sigreturn" { ticking.remove(thread) }
        continue
      }
      if name == "tgkill", event.contains(", 0)") { continue }
      // A sleeper that was about to sleep.
      if name == "pause" { continue }
      calls[event.contains("F_GETFL") ? "F_GETFL" : name, default: 0] += 1
    }
    return calls
  }
}
