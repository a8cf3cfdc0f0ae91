/// The tasks that a search of memory has found.
package struct TaskCollection {
  /// The maximum number of tasks that are kept.
  package static let taskLimit = 1 << 18

  package private(set) var tasks: [FoundTask] = []
  private var known: Set<UInt64> = []
  /// The number of timers of `Task.sleep`.
  package private(set) var timerCount: UInt64 = 0
  /// The number of bytes that the search has read, and the number of bytes that it has not read.
  package var (bytesSeen, bytesUnseen): (UInt64, UInt64) = (0, 0)

  package init() {}

  package var count: Int { tasks.count }

  /// Adds a task, or counts it if it is a timer; ignores a task whose ID was added before.
  package mutating func add(_ task: FoundTask) {
    guard tasks.count < Self.taskLimit, known.insert(task.id).inserted else { return }
    if task.isTimer {
      timerCount += 1
    } else {
      tasks.append(task)
    }
  }

  /// The tasks in groups, the largest group first; if groups have the same size, the one with the oldest task comes
  /// first.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of groups.
  ///   - recordLimit: the maximum number of tasks of each group of which a record is kept.
  package func groups(limit: Int, recordLimit: Int) -> [TaskGroup] {
    struct Key: Hashable {
      let state: TaskState
      let frames: [UInt64]
    }
    var places: [Key: Int] = [:]
    var groups: [TaskGroup] = []
    let ids = Dictionary(tasks.map { ($0.address, $0.id) }, uniquingKeysWith: { first, _ in first })
    // The lowest IDs come first, because these are the oldest tasks.
    for task in tasks.sorted(by: { $0.id < $1.id }) {
      let record = TaskRecord(
        id: task.id, parent: ids[task.parent] ?? 0, awaited: ids[task.awaited] ?? 0,
        flags: task.flags, status: task.status)
      let key = Key(state: task.state, frames: task.frames)
      let place = places[key] ?? groups.count
      if place == groups.count {
        places[key] = place
        groups.append(TaskGroup(state: task.state, count: 0, frames: task.frames))
      }
      groups[place].count += 1
      if record.isCancelled { groups[place].cancelledCount += 1 }
      if groups[place].records.count < recordLimit { groups[place].records.append(record) }
    }
    return Array(groups.sorted { ($1.count, $0.oldest) < ($0.count, $1.oldest) }.prefix(limit))
  }
}
