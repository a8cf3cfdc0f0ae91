package import IntermediateDump
internal import ProcessSnapshot
package import Stackwalk

/// The tasks of Swift concurrency that were found in memory, in groups with named functions.
package struct TaskOverview: Sendable {
  /// The maximum number of tasks of a group that are listed.
  static let listedCount = 16

  /// Tasks that are in the same state and have the same chain of functions.
  package struct Group: Sendable {
    package let found: TaskGroup
    /// The frames of the tasks' functions, innermost first; empty for tasks that threads run.
    package let frames: [StackFrame]
  }

  package let found: AllTasks
  /// The largest groups.
  package let groups: [Group]

  /// All frames of the groups.
  var frames: [StackFrame] { groups.flatMap(\.frames) }

  init(_ found: AllTasks, groups: [Group]) { (self.found, self.groups) = (found, groups) }

  init(_ found: AllTasks, _ walker: Stackwalker) {
    self.found = found
    groups = found.groups.prefix(StoredSymbols.taskGroups).map { group in
      Group(found: group, frames: walker.frames(ofSuspended: group.frames.map { Address($0) }))
    }
  }
}
