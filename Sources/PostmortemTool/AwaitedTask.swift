internal import Dispatch
internal import Synchronization

/// Asynchronous work of a command that has nothing else to do.
enum AwaitedTask {
  private final class Box<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }

  /// Waits for work on this thread.
  ///
  /// - Parameter seconds: after so many it is cancelled, and its end waited for; nil for never.
  /// - Returns: nil only if it never ended.
  static func run<Value: Sendable>(
    seconds: Int? = nil, _ work: @escaping @Sendable () async -> Value
  ) -> Value? {
    let box = Box<Value>()
    let done = DispatchSemaphore(value: 0)
    let task = Task.detached {
      let value = await work()
      box.value.withLock { $0 = value }
      done.signal()
    }
    if let seconds, done.wait(timeout: .now() + .seconds(seconds)) == .timedOut {
      task.cancel()
      done.wait()
    } else if seconds == nil {
      done.wait()
    }
    return box.value.withLock { $0 }
  }
}
