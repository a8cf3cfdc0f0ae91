package import ProcessSnapshot

/// The object that a thread in futex(2) waits for, found from frames and memory.
package struct Wait: Sendable, Equatable {
  /// The kind of object that the thread waits for.
  package enum Subject: String, Sendable {
    /// A `pthread_mutex_t`, like most locks of Swift packages.
    case mutex
    /// `Mutex` of Swift's module Synchronization.
    case swiftMutex = "swift-mutex"
    case readLock = "read-lock"
    case writeLock = "write-lock"
    /// `sync` of a dispatch queue.
    case queue
    /// The end of a thread.
    case thread
    /// An initialization that another thread does.
    case once
    /// A lock of libdispatch or of the program, whose word contains its owner.
    case ownedLock = "owned-lock"
    /// The C library's heap.
    case allocator
    /// A stream of stdio.
    case stream
    case condition
    case semaphore
    case group
    /// A lock or something else that no rule knows.
    case unknown
  }

  package var threadID: UInt32
  package var subject: Subject
  /// The address of the lock, the queue or the word.
  package var address: Address
  /// The label of a queue; nil for another subject, and for a queue without a label.
  package var label: String?
  /// The thread that holds the lock, or that must end; nil if it is not known.
  package var owner: UInt32?
  /// The number of readers that hold the lock, whose IDs are not known.
  package var readers = 0
  /// True if the word, its mark of a waiter and the function that waits agree on it.
  package var isCertain = false
  /// The innermost call of the program's own code that waits, with file and line as far as they are
  /// known.
  package var place: String?

  package init(threadID: UInt32, _ subject: Subject, at address: Address) {
    self.threadID = threadID
    self.subject = subject
    self.address = address
  }
}
