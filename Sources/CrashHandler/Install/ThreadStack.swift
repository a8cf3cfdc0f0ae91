internal import CSignalSafe
internal import Glibc
internal import Synchronization

/// Gives the calling thread an alternate stack, and takes it back when the thread ends.
///
/// Ordinary code.
enum ThreadStack {
  /// The calling thread's stack; the low bits count the rounds of thread-local destructors.
  ///
  /// nil if the process has no key left. Source: pthread_key_create(3).
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    let result = unsafe pthread_key_create(&key) { value in
      ThreadStack.endOfThread(UInt(bitPattern: value))
    }
    return result == 0 ? key : nil
  }()

  /// Threads that started without an alternate stack, because memory or thread-local keys were used up.
  static let refused = Atomic<Int>(0)

  /// libc goes over the keys this often as long as a destructor sets one again.
  private static let destructorRounds: UInt = 4

  /// Returns 0 if the calling thread now has a large enough alternate stack, otherwise the errno.
  ///
  /// errno does not change: a new thread starts with 0.
  ///
  /// - Parameters:
  ///   - current: bytes of the stack that the thread has.
  ///   - thread: the thread's ID; nil to read it when it is needed.
  ///   - make: returns a stack; nil, with errno set, if there is none.
  static func install(
    currentSize current: Int = AlternateStack.currentSize, thread: Int32? = nil,
    make: () -> AlternateStack? = { EarlierThreads.reuse() ?? AlternateStack.make() }
  ) -> Int32 {
    let before = errno
    defer { errno = before }
    if current >= AlternateStack.sufficientSize {
      // Not known where it was set without libc's function, or before the trait's was there.
      pm_tell_own_stack()
      return 0
    }
    guard let key else { return EAGAIN }
    // The thread has one of ours and put another in its place, which is too small.
    if let own = unsafe pthread_getspecific(key) {
      return stack(UInt(bitPattern: own)).use(isFirst: current == 0) ? 0 : errno
    }
    guard let stack = make() else { return errno }
    guard stack.use(isFirst: current == 0, thread: thread) else {
      let reason = errno
      stack.unmap()
      return reason
    }
    let result = unsafe pthread_setspecific(
      key, UnsafeMutableRawPointer(bitPattern: stack.mapping))
    if result != 0 { stack.release() }
    return result
  }

  /// Keeps the stack until the last round, so that a crash in another key's destructor has one.
  private static func endOfThread(_ value: UInt) {
    if let key, value % destructorRounds + 1 < destructorRounds,
      unsafe pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: value + 1)) == 0
    {
      return
    }
    stack(value).release()
  }

  private static func stack(_ value: UInt) -> AlternateStack {
    AlternateStack(mapping: value - value % destructorRounds)
  }

  /// Makes every new thread install a stack first, if the program links the target CThreadStacks.
  static func followNewThreads() {
    // The key is made now, not by two threads at once.
    _ = key
    pm_set_thread_start {
      pm_adopt_mask()
      if ThreadStack.install() != 0 { ThreadStack.refused.add(1, ordering: .relaxed) }
    }
  }
}
