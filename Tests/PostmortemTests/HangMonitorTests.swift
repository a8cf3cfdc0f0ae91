import CrashTestSupport
import Dispatch
import Foundation
import Glibc
import Postmortem
import Testing

/// Monitors send their probes directly to what they watch, because all threads of the global pool may be blocked.
@Suite struct HangMonitorTests {
  /// An executor that runs jobs on its own queue, like an event loop on its thread.
  private final class Loop: SerialExecutor {
    private let queue = DispatchQueue(label: "loop")
    let jobs = DispatchSemaphore(value: 0)

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async {
        unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
        self.jobs.signal()
      }
    }
  }

  private actor Connection {
    private let loop: Loop

    init(on loop: Loop) { self.loop = loop }

    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }
  }

  private static func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

  private static func blockPool() {
    let (entered, never) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let threads = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    for _ in 0..<threads * 2 {
      Task.detached {
        entered.signal()
        wait(for: never)
      }
    }
    // This test itself may occupy one of the pool's threads.
    for _ in 1..<threads { wait(for: entered) }
  }

  /// If the probe did not reach the executor, every idle event loop would count as hung.
  ///
  /// A monitor sends the next probe only after it has the answer.
  @Test(arguments: [false, true])
  func anIdleEventLoopAnswersItsMonitorsJobsRunOnIt(isActor: Bool) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    await #expect(processExitsWith: .success) {
      [database = database as String, isActor = isActor as Bool] in
      // Ends the process if there is no answer.
      alarm(60)
      try startHandler(database: database)
      let loop = Loop()
      Self.blockPool()
      if isActor {
        try HangMonitor.actor(Connection(on: loop), name: "loop")
      } else {
        try HangMonitor.executor(loop, name: "loop")
      }
      for _ in 0..<3 { Self.wait(for: loop.jobs) }
    }
  }

  enum LineCase: String, CaseIterable, Codable {
    case plain, off, offInHandler, sanitized, full
  }

  /// A second hang within five minutes is not said, and a full pipe neither gets a line nor stops the monitor.
  @Test(arguments: LineCase.allCases)
  func aHangIsSaidOnceWhenItBeginsAndOnceWhenItEnds(_ lineCase: LineCase) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    await #expect(processExitsWith: .success) {
      [database = database as String, lineCase = lineCase as LineCase] in
      alarm(120)
      var ends: [Int32] = [0, 0]
      try #require(unsafe pipe(&ends) == 0)
      for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
      let (written, errors) = (ends[0], dup(STDERR_FILENO))
      dup2(ends[1], STDERR_FILENO)
      var filler = 0
      while lineCase == .full {
        let count = unsafe write(STDERR_FILENO, "x", 1)
        if count <= 0 { break }
        filler += count
      }
      var options = HandlerOptions()
      options.writesSummary = lineCase != .offInHandler
      if lineCase == .sanitized { options.privacy = .sanitized }
      try startHandler(database: database, options: options)
      let monitor = try HangMonitor.heartbeat(
        name: "loop\n",
        options: .init(threshold: .milliseconds(100), writesSummary: lineCase != .off))
      func hangs() -> [String] {
        let pending = database + "/pending-serialized-dumps"
        return ((try? FileManager.default.contentsOfDirectory(atPath: pending)) ?? [])
          .filter { $0.hasSuffix(".hang") }
      }
      var ids: [Substring] = []
      for _ in 0..<2 {
        monitor.heartbeat()
        while hangs().isEmpty { usleep(5_000) }
        ids += hangs().compactMap { $0.split(separator: "@").last?.prefix(8) }
        while !hangs().isEmpty {
          monitor.heartbeat()
          usleep(5_000)
        }
      }
      dup2(errors, STDERR_FILENO)
      var bytes = [UInt8](repeating: 0, count: 1 << 20)
      let count = unsafe read(written, &bytes, bytes.count)
      let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
      guard lineCase == .plain else {
        #expect(text.utf8.count == filler && !text.contains("postmortem"), "\(text.suffix(300))")
        return
      }
      let lines = text.split(separator: "\n")
      try #require(lines.count == 2, "\(text)")
      let start = "postmortem[\(getpid())]: hang"
      #expect(
        lines[0].hasPrefix(start + ": the heartbeat \"loop \" has not answered for 0."), "\(text)")
      #expect(lines[0].hasSuffix("postmortem show --database \(database) \(ids[0])"), "\(text)")
      #expect(
        lines[1].hasPrefix(start + " ended: the heartbeat \"loop \" answers again"), "\(text)")
    }
  }
}
