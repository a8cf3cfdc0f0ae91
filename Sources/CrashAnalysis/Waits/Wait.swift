package import ProcessSnapshot

/// The wait of a thread for an object such as a lock, found from the thread's frames and memory.
///
/// Either the thread is blocked in futex(2) or a call of `OtherCall`, or the kernel or libdispatch refused the wait,
/// because it would never end.
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
    /// A barrier of pthread_barrier_wait.
    case barrier
    /// A `DispatchWorkItem`, in a call of `wait`.
    case workItem = "work-item"
    /// An `Operation` or the operations of an `OperationQueue`.
    case operation
    /// A `std::future` of C++.
    case future
    /// The lock of a file, by flock(2) or fcntl(2).
    case fileLock = "file-lock"
    /// The end of a child process, by wait4(2) or waitid(2).
    case child = "child-process"
    /// The reader of a full pipe or socket, by write(2) or a similar call.
    case write
    /// A lock or another object that no rule recognizes.
    case unknown
  }

  /// An owner that is not among the threads of the dump.
  package struct AbsentOwner: Sendable, Equatable {
    package enum Kind: String, Sendable {
      case ended
      /// A thread of the parent process: fork(2) copied the lock.
      case parentProcess = "parent-process"
      case otherProcess = "other-process"
      /// The dump does not contain all threads, or does not show which of them has the owner's ID.
      case unknown
    }

    /// The thread's ID in the PID namespace of the process that has the thread; for the lock of a file, the ID of the
    /// process.
    package var id: UInt32
    package var kind: Kind
    /// The name of the process that holds the lock of a file; nil for other locks, or if it is not known.
    package var name: String?
  }

  package var threadID: UInt32
  package var subject: Subject
  /// The address of the lock or the queue; for other subjects, the address of the futex word, or 0 if there is none.
  package var address: Address
  /// The label of a queue, the path of a file, pipe or socket, or the ID of a child process; nil for another subject, or if it is not
  /// known.
  package var label: String?
  /// The thread of the dump that holds the lock, or whose end is awaited; nil if it is not known.
  package var owner: UInt32?
  /// The owner, if it is not in the dump.
  package var absentOwner: AbsentOwner?
  /// True if the wait ends by itself after some time.
  package var hasLimit = false
  /// True for a mutex for which the kernel did not let the thread wait, because its owner waits for the thread or has
  /// ended.
  package var isRefused = false
  /// The number of readers that hold the lock; their thread IDs are not known.
  package var readers = 0
  /// For a lock that readers hold, the other threads that have its address in a register or on the stack; nil if not all
  /// stacks are in the dump.
  package var references: [UInt32]?
  /// True if the owner was read from the object's memory, if the waiting function confirms the kind of object, and if
  /// the memory marks that a thread waits.
  ///
  /// The mark is not required for kinds of objects that have none. If the kernel refused the wait for a `Mutex`,
  /// `isCertain` is true if no other word looks like a lock. The owner of a lock that several processes share is
  /// never certain if it has the ID of a thread of this process. For the lock of a file, the kernel names the owner.
  package var isCertain = false
  /// The innermost call of the program's own code in the waiting thread, with file and line if they are known.
  package var place: String?

  /// The ID of the owner, whether or not it is in the dump.
  package var knownOwner: UInt32? { owner ?? absentOwner?.id }

  package init(threadID: UInt32, _ subject: Subject, at address: Address) {
    self.threadID = threadID
    self.subject = subject
    self.address = address
  }
}
