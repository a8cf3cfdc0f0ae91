package import IntermediateDump

/// The tasks that a search of memory has found.
package struct TaskCollection {
  /// The maximum number of tasks that are kept.
  package static let taskLimit = 1 << 18

  /// The maximum number of tasks in cycles whose records are kept even if their groups have no room for more records.
  private static let cycleLimit = 256

  /// The maximum number of tasks in each group whose unit of work is kept.
  private static let workLimit = 8

  package private(set) var tasks: [FoundTask] = []
  private var known: Set<UInt64> = []
  /// The number of timers of `Task.sleep`.
  package private(set) var timerCount: UInt64 = 0
  /// The number of bytes that the search has read, and the number of bytes that it has not read, in which there may be
  /// more tasks.
  package var (bytesSeen, bytesUnseen): (UInt64, UInt64) = (0, 0)

  package init() {}

  package var count: Int { tasks.count }

  /// Adds a task; a timer (`FoundTask.isTimer`) is only counted.
  ///
  /// A task whose ID was added before is ignored. Once `tasks` contains `taskLimit` tasks, all others are ignored.
  package mutating func add(_ task: FoundTask) {
    guard tasks.count < Self.taskLimit, known.insert(task.id).inserted else { return }
    if task.isTimer {
      timerCount += 1
    } else {
      tasks.append(task)
    }
  }

  // MARK: - What tasks wait for

  /// Maps the address of each waiting task to the address of the task for which it waits.
  ///
  /// A task that waits for a task group counts as waiting for the group's task if the group has only one. If the group
  /// has several tasks, or if not all memory was searched, the waiting task has no entry.
  private var awaited: [UInt64: UInt64] {
    var children: [UInt64: [UInt64]] = [:]
    if bytesUnseen == 0 {
      for task in tasks where task.group != 0 {
        children[task.group, default: []].append(task.address)
      }
    }
    var awaited: [UInt64: UInt64] = [:]
    for task in tasks {
      if task.awaited != 0 {
        awaited[task.address] = task.awaited
      } else if task.awaitedGroup != 0, let group = children[task.awaitedGroup], group.count == 1 {
        awaited[task.address] = group[0]
      }
    }
    return awaited
  }

  /// The cycles of tasks that wait for each other, as the addresses of their tasks.
  private func cycles(_ awaited: [UInt64: UInt64]) -> [[UInt64]] {
    Cycles.all(from: tasks.lazy.map(\.address).filter { awaited[$0] != nil }) { awaited[$0] }
  }

  /// The addresses of the tasks in cycles, at most `cycleLimit` addresses; a cycle is kept completely or left out.
  private static func kept(_ cycles: [[UInt64]]) -> Set<UInt64> {
    var kept: Set<UInt64> = []
    for cycle in cycles where kept.count + cycle.count <= cycleLimit { kept.formUnion(cycle) }
    return kept
  }

  /// Reads the tasks of each cycle a second time, and removes the waits of the tasks that have changed.
  ///
  /// In a live process, tasks change while they are read one after the other: a task can end, and another one can get
  /// its memory. But a wait for a task ends only if that task ends. So if each task of a cycle has the same ID and
  /// waits for the same task in both readings, all these waits existed between the two readings.
  ///
  /// - Parameter read: reads the task at an address for the second time; nil if there is no task.
  package mutating func confirmCycles(_ read: (UInt64) -> FoundTask?) {
    let cycles = Set(cycles(awaited).joined())
    for index in tasks.indices where cycles.contains(tasks[index].address) {
      let (first, second) = (tasks[index], read(tasks[index].address))
      if let second, second.id == first.id, second.awaited == first.awaited,
        second.awaitedGroup == first.awaitedGroup, second.group == first.group
      {
        continue
      }
      (tasks[index].awaited, tasks[index].awaitedGroup) = (0, 0)
    }
  }

  // MARK: - Groups

  /// The tasks in groups, the largest group first; if groups have the same size, the one with the oldest task comes
  /// first.
  ///
  /// - Parameters:
  ///   - limit: the maximum number of groups. Groups that contain tasks of a cycle are kept first.
  ///   - recordLimit: the maximum number of records in each group. The record of a task in a cycle is kept even beyond
  ///     this number.
  package func grouped(limit: Int, recordLimit: Int) -> AllTasks {
    struct Key: Hashable {
      let state: TaskState
      let frames: [UInt64]
    }
    var places: [Key: Int] = [:]
    var groups: [TaskGroup] = []
    // The units of work that a group's `works` already lists; each unit is listed only once, usually with its oldest
    // task.
    var works: Set<UInt64> = []
    let ids = Dictionary(tasks.map { ($0.address, $0.id) }, uniquingKeysWith: { first, _ in first })
    let awaited = awaited
    let cycles = Self.kept(cycles(awaited))
    // The lowest IDs come first, so that the oldest tasks of each group are kept.
    for task in tasks.sorted(by: { $0.id < $1.id }) {
      var record = TaskRecord(
        id: task.id, parent: ids[task.parent] ?? 0,
        awaited: awaited[task.address].flatMap { ids[$0] } ?? 0,
        flags: task.flags, status: task.status)
      record.name = task.name
      let key = Key(state: task.state, frames: task.frames)
      let place = places[key] ?? groups.count
      if place == groups.count {
        places[key] = place
        groups.append(TaskGroup(state: task.state, count: 0, frames: task.frames))
      }
      groups[place].count += 1
      if record.isCancelled { groups[place].cancelledCount += 1 }
      if groups[place].records.count < recordLimit || cycles.contains(task.address) {
        groups[place].records.append(record)
      }
      if task.work != 0, groups[place].works.count < Self.workLimit,
        works.insert(task.work).inserted
      {
        groups[place].works.append(TaskWork(task: task.id, work: task.work))
      }
    }
    let kept = groups.sorted { ($1.count, $0.oldest) < ($0.count, $1.oldest) }
      .first(limit, cycles: Set(tasks.lazy.filter { cycles.contains($0.address) }.map(\.id)))
    var all = AllTasks(count: UInt64(count), groups: kept)
    all.timerCount = timerCount
    (all.bytesSeen, all.bytesUnseen) = (bytesSeen, bytesUnseen)
    return all
  }
}
