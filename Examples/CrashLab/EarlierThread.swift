internal import Dispatch
internal import Synchronization

/// A thread that starts before the handler, and waits for a closure to run.
final class EarlierThread: Sendable {
  private let work = Mutex<(@Sendable () -> Void)?>(nil)
  private let isThere = DispatchSemaphore(value: 0)
  private let hasWork = DispatchSemaphore(value: 0)
  private let isDone = DispatchSemaphore(value: 0)

  /// Returns when the thread runs.
  init(stackSize: Int?, isWorker: Bool) {
    if isWorker {
      DispatchQueue(label: "crash-lab.earlier").async { self.live() }
    } else {
      _ = Thread.start(stackSize: stackSize) { self.live() }
    }
    isThere.wait()
  }

  /// Runs a closure on the thread, and waits until it returns.
  func run(_ body: @escaping @Sendable () -> Void) {
    work.withLock { $0 = body }
    hasWork.signal()
    isDone.wait()
  }

  private func live() {
    isThere.signal()
    hasWork.wait()
    work.withLock { $0 }?()
    isDone.signal()
  }
}
