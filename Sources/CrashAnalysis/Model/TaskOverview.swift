package import IntermediateDump
package import ProcessSnapshot
package import Stackwalk

/// The tasks of Swift concurrency that were found in memory, in groups with the names of their functions.
package struct TaskOverview: Sendable {
  /// The maximum number of tasks of a group that are listed.
  package static let listedCount = 16

  /// Tasks that are in the same state and have the same chain of functions.
  package struct Group: Sendable {
    package let found: TaskGroup
    /// The frames of the tasks' functions, innermost first; empty for tasks that threads run.
    package let frames: [StackFrame]
    /// The group's oldest tasks that belong to a unit of work in flight, at most `contextCount`.
    package var contexts: [Context] = []

    /// Why a task that waits for a continuation of the runtime needs nobody to resume it; nil for other tasks.
    package var pause: TaskPause? {
      found.state == .awaitsContinuation || found.state == .suspended
        ? TaskPause(innermost: frames.prefix(TaskPause.frameCount)) : nil
    }
  }

  /// A task, and the unit of work in flight to which it belongs.
  package struct Context: Sendable {
    package let task: UInt64
    package let work: OpenContexts.Work
  }

  /// The maximum number of contexts of a group.
  package static let contextCount = 3

  package let found: AllTasks
  /// The largest groups; groups that contain tasks of a deadlock are preferred.
  package let groups: [Group]

  /// All frames of the groups.
  var frames: [StackFrame] { groups.flatMap(\.frames) }

  init(_ found: AllTasks, groups: [Group]) { (self.found, self.groups) = (found, groups) }

  /// - Parameter works: the units of work in flight, from which the contexts of each group are taken.
  init(_ found: AllTasks, _ walker: Stackwalker, works: [OpenContexts.Work] = []) {
    self.found = found
    let works = Dictionary(works.map { ($0.number, $0) }, uniquingKeysWith: { first, _ in first })
    groups = found.groups(atMost: StoredSymbols.taskGroups).map { group in
      let contexts = group.works.lazy.compactMap { task in
        works[task.work].map { Context(task: task.task, work: $0) }
      }
      return Group(
        found: group, frames: walker.frames(ofSuspended: group.frames.map { Address($0) }),
        contexts: Array(contexts.prefix(Self.contextCount)))
    }
  }
}

/// A call of the Swift runtime that suspends a task for some time, or only lets other tasks run.
package enum TaskPause: String, Sendable {
  case sleep
  /// The task called `Task.yield` and is ready to run.
  case yield

  /// The maximum number of the runtime's functions between the call and the innermost function.
  fileprivate static let frameCount = 4

  /// - Parameter frames: the innermost frames of a suspended task.
  ///
  /// Source: swift stdlib/public/Concurrency/TaskSleep.swift, TaskSleepDuration.swift, Task.swift, Clock.swift.
  fileprivate init?(innermost frames: ArraySlice<StackFrame>) {
    for name in frames.compactMap(\.linkageName) {
      let isClock =
        name.hasPrefix("$ss15ContinuousClockV") || name.hasPrefix("$ss15SuspendingClockV")
      guard isClock || name.hasPrefix("$sScT") else { return nil }
      if name.contains("5sleep") || name.contains("6_sleep") {
        self = .sleep
        return
      }
      if name.contains("5yield") {
        self = .yield
        return
      }
    }
    return nil
  }
}
