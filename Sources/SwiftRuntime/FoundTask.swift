package import IntermediateDump

/// A task of Swift concurrency that a search of the process's memory found.
package struct FoundTask: Sendable, Equatable {
  package var address: UInt64
  package var id: UInt64
  /// The runtime's flags of the job; bits 8 to 15 are its priority.
  package var flags: UInt32
  /// The runtime's status of the task; bits 0 to 7 are its priority.
  package var status: UInt32
  package var state: TaskState
  /// The address of the task that created this child task; 0 if the task is not a child.
  package var parent: UInt64
  /// The address of the task for which the task waits; 0 if it waits for none.
  package var awaited: UInt64
  /// The address of the task group whose next result the task waits for; 0 if it waits for none.
  package var awaitedGroup: UInt64 = 0
  /// The address of the task group that this task belongs to; 0 if it belongs to none.
  package var group: UInt64 = 0
  /// The addresses at which the task and its suspended callers continue, innermost first.
  package var frames: [UInt64]
  /// The number of the unit of work to which the task belongs; 0 if it belongs to none.
  package var work: UInt64 = 0
  /// The name that the program gave to the task; nil if it has none.
  package var name: String?
  /// True if the task has not begun to run.
  package var isAtStart = false

  /// True for a task that nothing has enqueued.
  ///
  /// `Task.sleep` creates such a task for each call, and enqueues it when the time is over.
  var isTimer: Bool { isAtStart && state == .suspended }
}
