import Dispatch
import Glibc
import Testing

@testable import HangDetection

@Suite struct ExecutorGuestTests {
  /// Runs jobs on a queue of its own, as an event loop does on its thread.
  private final class Loop: SerialExecutor {
    private let queue = DispatchQueue(label: "loop")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  private static func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

  /// Every idle event loop was told to hang, because the question did not come to it.
  @Test func runWhileTheGlobalPoolIsBlocked() async {
    await #expect(processExitsWith: .success) {
      // Ends the process if the answer does not come.
      alarm(30)
      let (entered, never) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let threads = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
      for _ in 0..<threads * 2 {
        Task.detached {
          entered.signal()
          Self.wait(for: never)
        }
      }
      // This test may have one of the pool's threads itself.
      for _ in 1..<threads { Self.wait(for: entered) }
      let answered = DispatchSemaphore(value: 0)
      let loop = Loop()
      let guest = unsafe ExecutorGuest(of: { unsafe loop.asUnownedSerialExecutor() })
      for _ in 0..<3 {
        guest.ask {
          dispatchPrecondition(condition: .notOnQueue(.main))
          answered.signal()
        }
        Self.wait(for: answered)
      }
    }
  }
}
