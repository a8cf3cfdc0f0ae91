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

extension [TaskGroup] {
  /// At most `limit` groups in the same order; groups that contain tasks of a cycle are kept first, then the groups at
  /// the beginning.
  ///
  /// - Parameter cycles: the IDs of the tasks that wait for each other in a cycle.
  package func first(_ limit: Int, cycles: Set<UInt64>) -> [TaskGroup] {
    guard count > limit else { return self }
    guard !cycles.isEmpty else { return Array(prefix(limit)) }
    let areInCycles = map { group in group.records.contains { cycles.contains($0.id) } }
    var others = Swift.max(0, limit - areInCycles.count { $0 })
    var kept: [TaskGroup] = []
    for (group, isInCycle) in zip(self, areInCycles) where isInCycle || others > 0 {
      if !isInCycle { others -= 1 }
      kept.append(group)
    }
    return Array(kept.prefix(limit))
  }
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
  /// The name that the program gave to the task; nil if it has none.
  package var name: String?

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
