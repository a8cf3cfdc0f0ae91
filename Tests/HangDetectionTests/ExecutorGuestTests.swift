import Dispatch
import Glibc
import Testing

@testable import HangDetection

@Suite struct ExecutorGuestTests {
  /// An executor that runs jobs on its own queue, like an event loop on its thread.
  private final class Loop: SerialExecutor {
    private let queue = DispatchQueue(label: "loop")

    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  private static func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }

  /// If the probe did not reach the executor, every idle event loop would count as hung.
  @Test func runWhileTheGlobalPoolIsBlocked() async {
    await #expect(processExitsWith: .success) {
      // Ends the process if there is no answer.
      alarm(30)
      let (entered, never) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let threads = max(2, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
      for _ in 0..<threads * 2 {
        Task.detached {
          entered.signal()
          Self.wait(for: never)
        }
      }
      // This test itself may occupy one of the pool's threads.
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
