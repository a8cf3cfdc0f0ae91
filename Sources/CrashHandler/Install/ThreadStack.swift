internal import CSignalSafe
internal import Glibc
internal import Synchronization

/// Gives the calling thread an alternate stack, and frees that stack when the thread ends.
///
/// Not crash code.
enum ThreadStack {
  /// The pthread key under which each thread stores the address of its alternate stack.
  ///
  /// The value stored for this key is the address of the stack's mapping, whose low bits count the rounds of
  /// thread-local destructors.
  ///
  /// The key is nil if it cannot be created, for example because the process has no free key; `install` then fails.
  /// Source: pthread_key_create(3).
  private static let key: pthread_key_t? = {
    var key = pthread_key_t()
    let result = unsafe pthread_key_create(&key) { value in
      ThreadStack.endOfThread(UInt(bitPattern: value))
    }
    return result == 0 ? key : nil
  }()

  /// The number of threads that got no alternate stack, for example because memory or thread-local keys were used up.
  static let refused = Atomic<Int>(0)

  /// The maximum number of times that libc runs a thread's destructors for thread-local keys; a destructor can set keys
  /// again, so libc repeats the run.
  private static let destructorRounds: UInt = 4

  /// Installs an alternate stack, unless the calling thread has a large enough one; returns 0, or the errno on
  /// failure.
  ///
  /// This function leaves errno unchanged, because a new thread must start with errno 0.
  ///
  /// - Parameters:
  ///   - current: the size of the thread's current alternate stack in bytes; 0 if it has none.
  ///   - thread: the thread's ID; nil to ask the kernel for the ID when it is needed.
  ///   - make: creates a stack; returns nil, with errno set, on failure.
  static func install(
    currentSize current: Int = AlternateStack.currentSize, thread: Int32? = nil,
    make: () -> AlternateStack? = { EarlierThreads.reuse() ?? AlternateStack.make() }
  ) -> Int32 {
    let before = errno
    defer { errno = before }
    if current >= AlternateStack.sufficientSize {
      // `pm_tell_own_stack` records a current stack that was set without `sigaltstack`, or before this package's
      // `sigaltstack` was loaded.
      pm_tell_own_stack()
      return 0
    }
    guard let key else { return EAGAIN }
    // A thread with a value for the key got an alternate stack from this package before, but has disabled it, or
    // replaced it with one that is too small. It gets the same stack again.
    if let own = unsafe pthread_getspecific(key) {
      return stack(UInt(bitPattern: own)).use(isFirst: current == 0) ? 0 : errno
    }
    guard let stack = make() else { return errno }
    // The key is set first, because a failure after `use` would leave the thread without its earlier stack.
    let result = unsafe pthread_setspecific(
      key, UnsafeMutableRawPointer(bitPattern: stack.mapping))
    guard result == 0 else {
      stack.unmap()
      return result
    }
    guard stack.use(isFirst: current == 0, thread: thread) else {
      let reason = errno
      _ = pthread_setspecific(key, nil)
      stack.unmap()
      return reason
    }
    return 0
  }

  /// Keeps the alternate stack of an ending thread until the last round of destructors, so that a crash in another
  /// key's destructor can still use the stack.
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

  /// Makes every new thread install an alternate stack before it calls its start function, if the program links the
  /// target CThreadStacks.
  static func followNewThreads() {
    // The key is created now, so that new threads never have to create it.
    _ = key
    pm_set_thread_start {
      OpenSignals.openHere()
      if ThreadStack.install() != 0 { ThreadStack.refused.add(1, ordering: .relaxed) }
    }
  }
}
