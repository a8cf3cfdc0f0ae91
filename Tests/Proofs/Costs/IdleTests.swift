import CrashReportDatabase
import CrashTestSupport
import Foundation
import Glibc
import Testing

/// The cost of everything that waits, measured at the same time.
///
/// The bounds are numbers of wake-ups, which do not depend on the machine or on its load: a wait with one more wake-up
/// per second exceeds them. A wait that spins may never sleep, so it is found by its processor time.
@Suite(.needs(.python3))
struct IdleTests {
  /// A waiting process.
  private struct Waiting {
    let name: String
    let process: Racer
    /// The number of wake-ups in a window.
    var wakes = 0
    /// True if Dispatch's thread pool has run something: the pool's own timer then wakes the process each second in
    /// addition, with or without this package.
    var usesPool = true
    /// True for a process with a fault that the measurement must find.
    var isPlanted = false
  }

  /// The number of seconds that a window lasts.
  private static let seconds = 20
  /// The number of wake-ups that a process may have in addition.
  ///
  /// A tick per second causes `seconds` wake-ups.
  private static let toleratedWakes = 15
  /// The milliseconds of processor time that a process may use in a window.
  ///
  /// This is twenty times what the handler with all options takes on a slow machine; a wait that spins takes 20,000.
  private static let toleratedTime = 400

  /// A program with a handler and an uploader.
  private func uploader(_ name: String, _ uploads: UploadDatabase, url: String) throws -> Waiting {
    Waiting(
      name: name,
      process: try Racer("UploadingVictim", [uploads.database.path, url, "wait", "0"]))
  }

  private func tool(
    _ name: String, _ words: [String], usesPool: Bool = false
  ) throws -> Waiting {
    Waiting(name: name, process: try Racer("postmortem", words), usesPool: usesPool)
  }

  /// A program without a handler.
  private func stranger(_ name: String, _ way: String, isPlanted: Bool = false) throws -> Waiting {
    Waiting(
      name: name, process: try Racer("UploadingVictim", ["none", "none", way, "0"]),
      isPlanted: isPlanted)
  }

  /// Milliseconds of processor time that a process has used, ended threads included.
  private static func processorTime(of process: pid_t) throws -> Double {
    // Source: Linux include/linux/posix-timers.h, MAKE_PROCESS_CPUCLOCK, CPUCLOCK_SCHED.
    let clock = clockid_t(~process << 3 | 2)
    var time = timespec()
    try #require(unsafe clock_gettime(clock, &time) == 0)
    return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
  }

  private static func wakes(of process: pid_t) throws -> Int {
    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/task")
    return try threads.reduce(0) { sum, thread in
      guard let text = try? KernelFile.text("/proc/\(process)/task/\(thread)/status") else {
        return sum
      }
      let count = text.firstMatch(of: /\nvoluntary_ctxt_switches:\s*(\d+)/).flatMap { Int($0.1) }
      return sum + (try #require(count))
    }
  }

  @Test func whatWaitsWakesUpNoMoreThanItMustAndDoesNotSpin() async throws {
    // One database for each state in which an uploader waits.
    let (handled, empty, waits) = (try UploadDatabase(), try UploadDatabase(), try UploadDatabase())
    let (disabled, down, stalled) = (
      try UploadDatabase(enabled: false), try UploadDatabase(), try UploadDatabase()
    )
    let (watched, portal) = (try UploadDatabase(), try UploadDatabase())
    let server = try PythonServer(in: handled.directory)
    for uploads in [waits, disabled, down, stalled, watched, portal] {
      for _ in 0..<3 { try uploads.addReport() }
    }
    let pool = try stranger(
      "a program without us, whose pool has run something", "wait-with-nothing")
    let all = [
      // The monitors check twice a second, and their queue once a second. The handler writes a heartbeat every ten
      // seconds.
      Waiting(
        name: "handler, with all options, monitors and heartbeats",
        process: try Racer(
          "UploadingVictim", [handled.database.path, "none", "wait-with-all", "0"]),
        wakes: Self.seconds * 3 + Self.seconds / 10),
      try uploader("nothing to send", empty, url: server.url("ok")),
      try uploader(
        "a report that waits for its next attempt", waits, url: server.url("retry/429/900")),
      try uploader("uploads disabled", disabled, url: server.url("ok")),
      try uploader("server down", down, url: "http://127.0.0.1:1/"),
      try uploader("a server that does not answer", stalled, url: server.url("stall")),
      try uploader("a portal in the server's place", portal, url: server.url("answer/page")),
      // The handler's dump file exists, and its owner is alive.
      try tool("watch", ["watch", handled.database.path]),
      try tool(
        "watch --upload",
        ["watch", watched.database.path, "--upload", server.url("retry/429/900")],
        usesPool: true),
      try tool("run", ["run", "--database", empty.database.path, "--", "/bin/cat"]),
      try stranger("a planted tick", "wait-and-tick", isPlanted: true),
      try stranger("a planted wait that spins", "wait-and-spin", isPlanted: true),
    ]
    defer { for waiting in all + [pool] { waiting.process.kill() } }
    for waiting in all + [pool] where waiting.name != "run" && !waiting.name.hasPrefix("watch") {
      _ = try waiting.process.line(with: "ready")
    }
    // An event after the first attempt, like a crash of another process.
    try await Task.sleep(for: .seconds(2))
    for uploads in [empty, waits, disabled, down, watched, portal] {
      try uploads.directory.put([1], "db/event")
    }
    try await Task.sleep(for: .seconds(3))
    let planted = Set(all.filter(\.isPlanted).map(\.name))
    // A fault is in each window. A wake-up for another reason, such as the uploader's look once a minute, is not.
    var faults = Set(all.map(\.name))
    var measured = ""
    for _ in 0..<3 where faults != planted {
      faults.formIntersection(try await Self.measure(all, pool, &measured))
    }
    #expect(faults == planted, "\(measured)")
  }

  /// Measures one window, and returns the names of the processes that exceeded their bounds.
  private static func measure(
    _ all: [Waiting], _ pool: Waiting, _ measured: inout String
  ) async throws -> Set<String> {
    let processes = [pool] + all
    let before = try processes.map {
      let process = pid_t($0.process.processID)
      return (time: try processorTime(of: process), wakes: try wakes(of: process))
    }
    try await Task.sleep(for: .seconds(seconds))
    var faults: Set<String> = []
    var ofPool = 0
    for (waiting, before) in zip(processes, before) {
      let process = pid_t(waiting.process.processID)
      let time = try processorTime(of: process) - before.time
      let wakes = try wakes(of: process) - before.wakes
      measured += "\(waiting.name): \(time) ms, \(wakes) wake-ups\n"
      if waiting.name == pool.name {
        ofPool = wakes
        continue
      }
      let expected = waiting.wakes + (waiting.usesPool ? ofPool : 0)
      if time > Double(toleratedTime) || wakes > expected + toleratedWakes {
        faults.insert(waiting.name)
      }
    }
    return faults
  }
}
