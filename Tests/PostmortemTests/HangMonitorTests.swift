import CrashTestSupport
import Dispatch
import Glibc
import Postmortem
import Testing

/// Monitors ask what they watch directly: the threads of the global pool may all be blocked.
@Suite struct HangMonitorTests {
  /// Runs jobs on a queue of its own, as an event loop does on its thread.
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
    // This test may have one of the pool's threads itself.
    for _ in 1..<threads { wait(for: entered) }
  }

  /// Each idle loop was told to hang, because the question did not come to it.
  ///
  /// A monitor asks again once it has the answer.
  @Test(arguments: [false, true])
  func anIdleEventLoopAnswersItsMonitorsJobsRunOnIt(isActor: Bool) async throws {
    let directory = try TemporaryDirectory()
    let database = directory.path + "/database"
    await #expect(processExitsWith: .success) {
      [database = database as String, isActor = isActor as Bool] in
      // Ends the process if no answer comes.
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
