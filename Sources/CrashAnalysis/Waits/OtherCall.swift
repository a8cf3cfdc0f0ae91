internal import IntermediateDump
internal import ProcessSnapshot

/// A system call other than futex(2) in which a thread waits for a file's lock, for a child process, or for the reader of
/// a full pipe or socket.
///
/// Source: flock(2), fcntl(2), wait4(2), waitid(2), write(2), writev(2), sendto(2), sendmsg(2).
struct OtherCall: Sendable, Equatable {
  let wait: Wait

  init?(of thread: ThreadSnapshot, in snapshot: ProcessSnapshot) {
    guard let call = BlockingCall(of: thread, in: snapshot), call.arguments.count == 6 else {
      return nil
    }
    let (number, arguments) = (call.number, call.arguments)
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
    case _ where calls.writes.contains(number):
      guard let write = Self.write(of: thread, arguments[0], snapshot) else { return nil }
      wait = write
    default: return nil
    }
  }

  /// The wait of a write to a pipe or a socket, which is full if the thread sleeps; nil for another file.
  private static func write(
    of thread: ThreadSnapshot, _ descriptor: UInt64, _ snapshot: ProcessSnapshot
  ) -> Wait? {
    guard let file = file(descriptor, snapshot), [.pipe, .socket].contains(file.kind) else {
      return nil
    }
    var wait = Wait(threadID: thread.id, .write, at: 0)
    wait.label = file.path ?? "descriptor \(file.number)"
    return wait
  }

  private static func file(_ descriptor: UInt64, _ snapshot: ProcessSnapshot) -> OpenDescriptor? {
    snapshot.process.descriptors.first { $0.number == descriptor & 0xFFFF_FFFF }
  }

  private static func fileLock(
    of thread: UInt32, _ descriptor: UInt64, _ snapshot: ProcessSnapshot
  ) -> Wait {
    var wait = Wait(threadID: thread, .fileLock, at: 0)
    wait.label =
      descriptor == IntermediateDumpFormat.replacedWord ? nil : file(descriptor, snapshot)?.path
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
  fileprivate var waitingCalls: (wait4: Int, waitid: Int, writes: Set<Int>) {
    switch self {
    case .x86_64: (61, 247, [1, 20, 44, 46])
    case .arm64: (260, 95, [64, 66, 206, 211])
    }
  }
}
