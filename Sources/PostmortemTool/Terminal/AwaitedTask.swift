internal import Dispatch
internal import Synchronization

/// Waits for asynchronous work, for a command that does nothing else at the same time.
enum AwaitedTask {
  private final class Box<Value: Sendable, Failure: Error>: Sendable {
    let result = Mutex<Result<Value, Failure>?>(nil)
  }

  /// Runs asynchronous work, and blocks this thread until the work ends.
  ///
  /// - Parameter seconds: the number of seconds after which the work is canceled; its end is awaited even then. Nil
  ///   for no limit.
  /// - Returns: the result of the work, even if the work was canceled.
  static func run<Value: Sendable, Failure: Error>(
    seconds: Int? = nil, _ work: @escaping @Sendable () async throws(Failure) -> Value
  ) throws(Failure) -> Value? {
    let box = Box<Value, Failure>()
    let done = DispatchSemaphore(value: 0)
    let task = Task.detached {
      let result: Result<Value, Failure>
      do throws(Failure) { result = .success(try await work()) } catch { result = .failure(error) }
      box.result.withLock { $0 = result }
      done.signal()
    }
    if done.wait(timeout: seconds.map { .now() + .seconds($0) } ?? .distantFuture) == .timedOut {
      task.cancel()
      done.wait()
    }
    return try box.result.withLock { $0 }?.get()
  }
}
