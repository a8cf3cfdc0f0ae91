import Glibc
import Synchronization

/// A pthread that runs a closure and returns the result when it is joined.
final class TestThread<Result: Sendable>: Sendable {
  private let result = Mutex<Result?>(nil)
  private let body: @Sendable () -> Result
  private let handle = Mutex<pthread_t>(0)

  init(stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Result) {
    self.body = body
    var thread: pthread_t = 0
    let pointer = unsafe Unmanaged.passRetained(self as AnyObject).toOpaque()
    // Does not use pthread_attr_t's initializer, which is ambiguous: CDispatch and Glibc both have it.
    let error = unsafe withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) {
      buffer in
      let attributes = buffer.baseAddress!
      unsafe pthread_attr_init(attributes)
      defer { unsafe pthread_attr_destroy(attributes) }
      unsafe pthread_attr_setstacksize(attributes, stackSize)
      return unsafe pthread_create(
        &thread, attributes,
        { pointer in
          let object = unsafe Unmanaged<AnyObject>.fromOpaque(pointer!).takeRetainedValue()
          (object as? any Runnable)?.run()
          return nil
        }, pointer)
    }
    precondition(error == 0, "pthread_create: \(error)")
    handle.withLock { $0 = thread }
  }

  /// Waits for the thread's end.
  func join() -> Result {
    let error = pthread_join(handle.withLock { $0 }, nil)
    precondition(error == 0, "pthread_join: \(error)")
    return result.withLock { $0! }
  }
}

private protocol Runnable: AnyObject {
  func run()
}

extension TestThread: Runnable {
  func run() {
    let value = body()
    result.withLock { $0 = value }
  }
}
