internal import Synchronization

/// A thread that crashes at the same instant as another one.
enum Companion {
  private static let isThere = Atomic<Bool>(false)
  private static let isOpen = Atomic<Bool>(false)

  /// Returns when the thread is about to crash.
  static func start(_ kind: CrashKind, stackSize: Int?) {
    Thread.start(stackSize: stackSize) {
      isThere.store(true, ordering: .releasing)
      while !isOpen.load(ordering: .acquiring) {}
      attempt(kind.crash)
    }
    while !isThere.load(ordering: .acquiring) {}
    isOpen.store(true, ordering: .releasing)
  }
}
