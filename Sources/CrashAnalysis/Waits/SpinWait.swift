internal import IntermediateDump
internal import ProcessSnapshot
package import Stackwalk

/// Recognizes threads that may wait for a lock in a loop, without a system call.
///
/// The dump shows one moment, so a thread that is about to take a free lock looks the same.
enum SpinWait {
  /// True for a thread that runs in a function that takes a lock.
  static func isLikely(_ thread: ReportThread, _ ownCode: OwnCode) -> Bool {
    let snapshot = thread.snapshot
    guard snapshot.captureMethod != .crashed, snapshot.state == "R",
      snapshot.systemCallNumber == nil || pauses(thread.frames.first)
    else { return false }
    let frames = thread.frames.prefix(8).drop { pauses($0) || isAtomic($0) }
    guard let frame = frames.first else { return false }
    return frame.linkageName == "pthread_spin_lock"
      || ownCode.contains(frame) && LockMethod.takes(frame)
  }

  private static func pauses(_ frame: StackFrame?) -> Bool {
    ["sched_yield", "__sched_yield"].contains(frame?.linkageName)
  }

  private static func isAtomic(_ frame: StackFrame) -> Bool {
    frame.linkageName?.hasPrefix("$s15Synchronization6AtomicV") ?? false
  }
}

extension OwnCode {
  /// The innermost call of the program's own code that is not a method of a lock; this call shows the reader which lock
  /// the thread waits for.
  ///
  /// If all calls of the program's own code are methods of locks, the innermost one is used.
  package func waitingPlace(in frames: [StackFrame]) -> String? {
    let rest = frames.drop { !contains($0) || LockMethod.contains($0) }
    return place(in: Array(rest)) ?? place(in: frames)
  }
}
