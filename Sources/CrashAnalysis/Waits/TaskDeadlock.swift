internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// A cycle of tasks, each of which waits for the next one, so none of them can ever continue.
///
/// No thread is blocked, so only the tasks in memory show such a deadlock. Actors alone never cause such a deadlock,
/// because an actor runs other work while one of its methods is suspended.
package struct TaskDeadlock: Sendable, Equatable {
  /// A task of the cycle, and its wait for the next task.
  package struct Wait: Sendable, Equatable {
    package var id: UInt64
    package var awaited: UInt64
    /// True if the task waits for a task group whose only task is `awaited`.
    package var isForGroup: Bool
    /// The innermost call of the program's own code, with file and line if they are known.
    package var place: String?
    /// The functions in which the task and its suspended callers continue, innermost first.
    var frames: [StackFrame]
  }

  /// The waits in the order of the cycle: each task waits for the task of the next element, and the last task waits for
  /// the first.
  ///
  /// The array starts with the wait whose `place` comes first in alphabetical order.
  package let waits: [Wait]

  fileprivate init(_ waits: [Wait]) {
    let first = waits.indices.min { Self.order(of: waits[$0]) < Self.order(of: waits[$1]) } ?? 0
    self.waits = Array(waits[first...] + waits[..<first])
  }

  /// True if the runtime's records show all the waits.
  ///
  /// A wait for a task group is not certain, because the group may contain tasks that the search did not find.
  package var isCertain: Bool { !waits.contains(where: \.isForGroup) }

  fileprivate var order: (Int, String, UInt64) {
    let first = waits.first.map(Self.order) ?? ("", 0)
    return (isCertain ? 0 : 1, first.0, first.1)
  }

  private static func order(of wait: Wait) -> (String, UInt64) {
    (wait.place ?? "\u{10FFFF}", wait.id)
  }

  /// The maximum number of waits of a deadlock that are described in sentences.
  package static let shownCount = 8
}

extension TaskOverview {
  /// The cycles of tasks that wait for each other, certain ones first.
  ///
  /// The order depends on places in the code, so that all reports list the same deadlocks in the same order.
  func deadlocks(_ ownCode: OwnCode) -> [TaskDeadlock] {
    let cycles = found.cycles
    guard !cycles.isEmpty else { return [] }
    var places: [UInt64: (group: Group, record: TaskRecord)] = [:]
    for group in groups {
      for record in group.found.records { places[record.id] = (group, record) }
    }
    return cycles.map { cycle in
      TaskDeadlock(
        cycle.map { id in
          let known = places[id]
          let frames = known?.group.frames ?? []
          return TaskDeadlock.Wait(
            id: id, awaited: known?.record.awaited ?? 0,
            isForGroup: known?.group.found.state == .awaitsGroup,
            place: ownCode.taskPlaces(in: frames).place, frames: frames)
        })
    }.sorted { $0.order < $1.order }
  }
}

extension [TaskDeadlock] {
  /// The task deadlock that explains a dump without a crash; nil if there is none, or if a thread explains the dump.
  ///
  /// - Parameters:
  ///   - hang: the thread that hangs, if the report is about a hang. If this thread uses the processor, or waits for
  ///     another thread, it does not wait for the tasks.
  func cause(of snapshot: ProcessSnapshot, _ hang: HangSubject?, _ waits: Waits) -> TaskDeadlock? {
    guard let request = snapshot.request, waits.deadlock(of: snapshot, hang) == nil else {
      return nil
    }
    if let hang, hang.hasPlace {
      guard request.isBusy != true, hang.waiter == nil,
        hang.threadID.flatMap({ waits.wait(of: $0)?.knownOwner }) == nil
      else { return nil }
    }
    return first
  }
}
