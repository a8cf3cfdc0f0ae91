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
  /// True if the task has not begun to run.
  package var isAtStart = false

  /// True for a task that nothing has enqueued.
  ///
  /// `Task.sleep` creates such a task for each call, and enqueues it when the time is over.
  var isTimer: Bool { isAtStart && state == .suspended }
}

/// The facts that a dump contains about one task.
package struct TaskRecord: Sendable, Equatable {
  private static let isCancelled: UInt32 = 0x100

  package var id: UInt64
  /// The ID of the task that created this child task; 0 if there is none, or it is not known.
  package var parent: UInt64 = 0
  /// The ID of the task for which the task waits, or of the only task of the group for which it waits; 0 if there is
  /// none, or it is not known.
  package var awaited: UInt64 = 0
  package var flags: UInt32 = 0
  package var status: UInt32 = 0

  package init(
    id: UInt64, parent: UInt64 = 0, awaited: UInt64 = 0, flags: UInt32 = 0, status: UInt32 = 0
  ) {
    self.id = id
    self.parent = parent
    self.awaited = awaited
    self.flags = flags
    self.status = status
  }

  package var priority: UInt8 { UInt8(truncatingIfNeeded: status) }
  package var isCancelled: Bool { status & Self.isCancelled != 0 }

  /// The four words that a dump stores for this record.
  var words: [UInt64] { [id, parent, awaited, UInt64(flags) | UInt64(status) << 32] }

  init(words: ArraySlice<UInt64>) {
    let words = Array(words)
    self.init(
      id: words[0], parent: words[1], awaited: words[2],
      flags: UInt32(truncatingIfNeeded: words[3]),
      status: UInt32(truncatingIfNeeded: words[3] >> 32))
  }
}

/// A task, and the unit of work to which it belongs.
package struct TaskWork: Sendable, Equatable {
  /// The ID of the task.
  package var task: UInt64
  /// The number of the unit of work, as in the list of open contexts.
  package var work: UInt64

  package init(task: UInt64, work: UInt64) { (self.task, self.work) = (task, work) }
}

/// Tasks that are in the same state and have the same chain of functions.
package struct TaskGroup: Sendable, Equatable {
  package var state: TaskState
  package var count: UInt64
  package var cancelledCount: UInt64
  /// The addresses at which the tasks and their suspended callers continue, innermost first.
  package var frames: [UInt64]
  /// The tasks with the lowest IDs, which are the oldest tasks of the group; some are left out if there are many.
  ///
  /// Tasks that wait for each other in a cycle are never left out, as long as all included cycles have at most 256
  /// tasks together.
  package var records: [TaskRecord]
  /// The oldest tasks of the group that belong to a unit of work, each with the number of its unit.
  package var works: [TaskWork] = []

  package init(
    state: TaskState, count: UInt64, cancelledCount: UInt64 = 0, frames: [UInt64] = [],
    records: [TaskRecord] = []
  ) {
    self.state = state
    self.count = count
    self.cancelledCount = cancelledCount
    self.frames = frames
    self.records = records
  }

  /// The ID of the oldest task; the largest number if no task is known.
  package var oldest: UInt64 { records.first?.id ?? .max }
}
