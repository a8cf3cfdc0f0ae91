import CrashTestSupport
import Dispatch
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
}
