import CrashTestSupport
import Foundation
import ProcessSnapshot
import Testing

/// A crash, and the system calls after its signal, as strace(1) or the kernel lists them.
struct CountedCrash {
  /// The number of calls, by the name of the system call.
  let calls: [String: Int]

  /// The number of all calls except those for listed descriptors.
  var total: Int { calls.values.reduce(0, +) - ofDescriptors }

  /// The number of calls for the listed descriptors: one to read each link, and one to read the flags of each
  /// descriptor with a path.
  ///
  /// One link belongs to no descriptor: the working directory.
  var ofDescriptors: Int { calls["readlinkat", default: 0] - 1 + calls["F_GETFL", default: 0] }

  /// Runs crash-lab through a null read under strace.
  ///
  /// - Parameters:
  ///   - sleepers: the number of threads in addition to the one that crashes.
  ///   - launcher: a command that runs crash-lab, written before its path.
  init(
    sleepers: Int = 0, _ more: [String] = [], environment: [String: String] = [:],
    launcher: [String] = [], build: BuildConfiguration = .release
  ) async throws {
    let directory = try TemporaryDirectory()
    let strace = try #require(OutsideTool.strace.path)
    let victim = try await BuiltProducts.shared.executable("crash-lab", build)
    let trace = directory.path + "/trace"
    let child = try await ChildProcess.run(
      strace,
      ["-f", "-qq", "-s", "0", "-o", trace] + launcher + [
        victim, "null-read", "--database", directory.path + "/database", "--threads",
        "\(sleepers)",
      ] + more, in: try directory.subdirectory("run"), environment: environment)
    #expect(child.end.signal == 11)
    let text = try String(contentsOfFile: trace, encoding: .utf8)
    calls = Self.count(text.split(separator: "\n").compactMap { Event(strace: $0) })
    let reports = try ReportDirectory(directory.path + "/database")
    #expect(reports.hasOneCompleteReport, "\(reports.processed)")
    let threads = try #require(reports.snapshots.first).threads
    #expect(threads.count > sleepers)
    #expect(threads.allSatisfy { $0.context != nil && !$0.stack.isEmpty })
  }

  /// Counts the calls of a trace.
  init(_ events: [Event]) { calls = Self.count(events) }

  /// An event of a thread in the trace.
  enum Event {
    /// The signal of the crash.
    case fault
    /// A signal of a timer.
    case tick(thread: Substring)
    /// The end of a wait that nobody ended.
    case timeout(thread: Substring)
    case call(String, thread: Substring)
  }

  /// Leaves out what depends on how long the crash takes, under strace a hundred times as long: the ticks of the
  /// handler's timer; and the rounds in which a stopped thread waits, each with a look at the clock.
  private static func count(_ events: [Event]) -> [String: Int] {
    var calls: [String: Int] = [:]
    var ticking: Set<Substring> = []
    var late: Set<Substring> = []
    var hasCrashed = false
    for event in events {
      switch event {
      case .fault: hasCrashed = true
      case .tick(let thread): ticking.insert(thread)
      case .timeout(let thread):
        guard hasCrashed else { continue }
        late.insert(thread)
        calls["futex", default: 0] -= 1
      case .call(let name, let thread):
        guard hasCrashed else { continue }
        if late.remove(thread) != nil, name == "clock_gettime" { continue }
        if !ticking.contains(thread) {
          calls[name, default: 0] += 1
        } else if name == "rt_sigreturn" {
          ticking.remove(thread)
        }
      }
    }
    return calls
  }
}

extension CountedCrash.Event {
  /// - Returns: nil for a line without an event, and for two calls that also depend on time: the check of a
  ///   thread that has not answered for 10 ms, and the sleep of a thread that was about to sleep.
  init?(strace line: Substring) {
    let words = line.split(separator: " ", maxSplits: 1)
    guard let thread = words.first, let rest = words.last else { return nil }
    let event = rest.drop { $0 == " " }
    if event.hasPrefix("--- ") {
      if event.contains("SI_TIMER") {
        self = .tick(thread: thread)
      } else if event.hasPrefix("--- SIGSEGV") {
        self = .fault
      } else {
        return nil
      }
      return
    }
    // A call that ended at once is on one line, and is not counted.
    if event.contains("ETIMEDOUT") {
      guard event.hasPrefix("<... ") else { return nil }
      self = .timeout(thread: thread)
      return
    }
    guard let match = event.prefixMatch(of: /([a-z0-9_]+)\(/) else { return nil }
    let name = String(match.1)
    if name == "tgkill" && event.contains(", 0)") || name == "pause" { return nil }
    self = .call(event.contains("F_GETFL") ? "F_GETFL" : name, thread: thread)
  }
}
