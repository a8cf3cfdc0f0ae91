internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// The stack or the task from which a report's place and signature are taken.
package enum ReportPlace {
  /// The stack of the crashed or hung thread, or of the thread that requested the dump.
  case ownStack
  /// The stack of a waiting thread.
  case wait(Wait)
  /// The stack of the main thread, for a dump that another process requested.
  case mainThread(UInt32)
  /// A task that waits in a deadlock of tasks.
  case task(TaskDeadlock.Wait)
  /// A hang for which neither a stack nor a deadlock of tasks shows the place.
  case unknown

  /// - Parameters:
  ///   - cause: the cause that the report names; it is used only for a requested dump, where it is a deadlock or nil.
  ///   - tasks: the deadlock of tasks that explains a dump without a crash; nil if there is none.
  init(
    of snapshot: ProcessSnapshot, _ hang: HangSubject?, _ cause: Finding?, _ tasks: TaskDeadlock?,
    _ waits: Waits
  ) {
    func stack(of thread: UInt32?) -> ReportPlace? {
      thread.flatMap { waits.wait(of: $0) }.flatMap { $0.place == nil ? nil : .wait($0) }
    }
    if let hang {
      self =
        hang.hasPlace
        ? stack(of: hang.threadID) ?? .ownStack
        : tasks?.waits.first.map { .task($0) } ?? .unknown
      return
    }
    guard let request = snapshot.request else {
      self = .ownStack
      return
    }
    // If the cause of a requested dump is a deadlock, the report is about a deadlocked thread or task, not about the
    // thread that wrote the dump.
    switch cause?.cause {
    case .deadlock(let deadlock): self = deadlock.waits.first.map { .wait($0) } ?? .ownStack
    case .taskDeadlock(let deadlock): self = deadlock.waits.first.map { .task($0) } ?? .ownStack
    default:
      // The kernel chooses the thread that takes the signal of a request, so that thread shows nothing.
      let main = snapshot.process.processID
      guard request.kind == .tool || request.kind == .coreFile,
        let main, snapshot.threads.contains(where: { $0.id == main })
      else {
        self = .ownStack
        return
      }
      self = stack(of: main) ?? .mainThread(main)
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
    case .mainThread(let id): ownCode.crashPlace(in: stack(id))
    case .task(let wait): wait.place
    case .unknown: nil
    }
  }

  /// The thread from whose stack place and signature are taken; nil for any other case than `wait` and `mainThread`.
  package var threadID: UInt32? {
    switch self {
    case .wait(let wait): wait.threadID
    case .mainThread(let id): id
    case .ownStack, .task, .unknown: nil
    }
  }
}
