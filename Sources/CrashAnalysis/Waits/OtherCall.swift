internal import IntermediateDump
internal import ProcessSnapshot

/// A system call other than futex(2) in which a thread waits for a file's lock or for a child process.
///
/// Source: flock(2), fcntl(2), wait4(2), waitid(2).
struct OtherCall: Sendable, Equatable {
  let wait: Wait

  init?(of thread: ThreadSnapshot, in snapshot: ProcessSnapshot) {
    let arguments = thread.systemCallArguments
    guard let number = thread.systemCallNumber, arguments.count == 6 else { return nil }
    let calls = snapshot.architecture.waitingCalls
    let lockCalls = FileLockWait.calls(isARM64: snapshot.architecture == .arm64)
    switch number {
    case lockCalls.flock:
      wait = Self.fileLock(of: thread.id, arguments[0], snapshot)
    case lockCalls.fcntl where FileLockWait.waitingCommands.contains(arguments[1] & 0xFFFF_FFFF):
      wait = Self.fileLock(of: thread.id, arguments[0], snapshot)
    case calls.wait4: wait = Self.child(of: thread.id, arguments[0])
    // P_PID.
    case calls.waitid: wait = Self.child(of: thread.id, arguments[0] == 1 ? arguments[1] : 0)
    default: return nil
    }
  }

  private static func fileLock(
    of thread: UInt32, _ descriptor: UInt64, _ snapshot: ProcessSnapshot
  ) -> Wait {
    var wait = Wait(threadID: thread, .fileLock, at: 0)
    let file = snapshot.process.descriptors.first { $0.number == descriptor & 0xFFFF_FFFF }
    wait.label = descriptor == IntermediateDumpFormat.replacedWord ? nil : file?.path
    if let lock = snapshot.fileLocks.first(where: { $0.threadID == thread }) {
      // The kernel names the process that took the lock of flock(2); a child that has inherited it may hold it.
      let isOwn = lock.holder == snapshot.process.processID
      wait.absentOwner = Wait.AbsentOwner(
        id: lock.holder, kind: isOwn ? .unknown : .otherProcess, name: lock.holderName)
      wait.isCertain = !isOwn
    }
    return wait
  }

  private static func child(of thread: UInt32, _ id: UInt64) -> Wait {
    var wait = Wait(threadID: thread, .child, at: 0)
    let id = Int32(truncatingIfNeeded: id)
    if id > 0 { wait.label = "\(id)" }
    return wait
  }
}

extension ProcessSnapshot.Architecture {
  /// Source: Linux arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
  fileprivate var waitingCalls: (wait4: Int, waitid: Int) {
    switch self {
    case .x86_64: (61, 247)
    case .arm64: (260, 95)
    }
  }
}
