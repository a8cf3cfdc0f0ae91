internal import ProcessSnapshot
internal import Stackwalk

/// The stack or the task from which a report's `place` is taken.
enum ReportPlace {
  /// The stack of the crashed or hung thread, or of the thread that wrote the dump.
  case ownStack
  /// The stack of a deadlocked thread, for a requested dump.
  case wait(Wait)
  /// A task that waits in a deadlock of tasks.
  case task(TaskDeadlock.Wait)
  /// A hang for which neither a stack nor a deadlock of tasks shows the place.
  case unknown

  /// - Parameters:
  ///   - cause: the cause that the report names; it is used only for a requested dump, where it is a deadlock or nil.
  ///   - tasks: the deadlock of tasks that explains a dump without a crash; nil if there is none.
  init(
    of snapshot: ProcessSnapshot, _ hang: HangSubject?, _ cause: Finding?, _ tasks: TaskDeadlock?
  ) {
    if let hang {
      self = hang.hasPlace ? .ownStack : tasks?.waits.first.map { .task($0) } ?? .unknown
      return
    }
    // If the cause of a requested dump is a deadlock, the report is about a deadlocked thread or task, not about the
    // thread that wrote the dump.
    switch snapshot.request == nil ? nil : cause?.cause {
    case .deadlock(let deadlock): self = deadlock.waits.first.map { .wait($0) } ?? .ownStack
    case .taskDeadlock(let deadlock): self = deadlock.waits.first.map { .task($0) } ?? .ownStack
    default: self = .ownStack
    }
  }

  /// The place as text, such as "Pool.lease() at Pool.swift:31"; nil if it is not known.
  ///
  /// - Parameters:
  ///   - own: the text for the case `ownStack`.
  ///   - stack: returns the stack of the thread with a given ID.
  func text(own: String?, _ ownCode: OwnCode, stack: (UInt32) -> [StackFrame]) -> String? {
    switch self {
    case .ownStack: own
    case .wait(let wait): wait.place ?? ownCode.crashPlace(in: stack(wait.threadID))
    case .task(let wait): wait.place
    case .unknown: nil
    }
  }
}
