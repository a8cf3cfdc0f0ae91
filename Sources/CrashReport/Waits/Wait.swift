package import ProcessSnapshot

/// The wait of a thread for an object such as a lock, found from the thread's frames and memory.
///
/// Either the thread is blocked in futex(2), or the kernel or libdispatch refused the wait, because it would never end.
package struct Wait: Sendable, Equatable {
  /// The kind of object that the thread waits for.
  package enum Subject: String, Sendable {
    /// A `pthread_mutex_t`, which most locks of Swift packages use.
    case mutex
    /// A `Mutex` of Swift's module Synchronization.
    case swiftMutex = "swift-mutex"
    case readLock = "read-lock"
    case writeLock = "write-lock"
    /// A dispatch queue, in a call of `sync`.
    case queue
    /// The end of another thread, as in pthread_join.
    case thread
    /// An initialization that another thread performs.
    case once
    /// A lock of libdispatch or of the program; its futex word contains the owner's thread ID.
    case ownedLock = "owned-lock"
    /// A lock of the C library's heap.
    case allocator
    /// The lock of a stdio stream.
    case stream
    case condition
    case semaphore
    case group
    /// A lock or another object that no rule recognizes.
    case unknown
  }

  package var threadID: UInt32
  package var subject: Subject
  /// The address of the lock or the queue; for other subjects, the address of the futex word.
  package var address: Address
  /// The label of a queue; nil for another subject or for a queue without a label.
  package var label: String?
  /// The thread that holds the lock, or whose end is awaited; nil if it is not known.
  package var owner: UInt32?
  /// The number of readers that hold the lock; their thread IDs are not known.
  package var readers = 0
  /// True if the owner was read from the object's memory, if the waiting function confirms the kind of object, and if
  /// the memory marks that a thread waits.
  ///
  /// The mark is not required for kinds of objects that have none. If the kernel refused the wait for a `Mutex`,
  /// `isCertain` is true if no other word looks like a lock.
  package var isCertain = false
  /// The innermost call of the program's own code in the waiting thread, with file and line if they are known.
  package var place: String?

  package init(threadID: UInt32, _ subject: Subject, at address: Address) {
    self.threadID = threadID
    self.subject = subject
    self.address = address
  }
}
