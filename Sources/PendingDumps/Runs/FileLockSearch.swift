internal import Glibc
package import IntermediateDump

/// Finds the processes that hold the file locks for which a process's threads wait.
///
/// Only `/proc/locks` shows who holds the lock of flock(2). While the kernel produces its text, no process on the
/// machine can lock or unlock a file, so the file is read only if a thread waits for such a lock.
///
/// Signal handlers must not use this type. Source: proc_pid_syscall(5), proc_locks(5); Linux fs/locks.c, `lock_get_status`.
package enum FileLockSearch {
  /// The maximum number of threads that are examined.
  private static let threadLimit = 4096
  #if arch(arm64)
    private static let calls = FileLockWait.calls(isARM64: true)
  #else
    private static let calls = FileLockWait.calls(isARM64: false)
  #endif

  /// A thread that waits for the lock of a file.
  struct Waiter: Equatable {
    var threadID: UInt32
    var inode: UInt64
    var isOfFlock: Bool
  }

  /// The waits of a process whose holder is known; a lock that another PID namespace or an open file description
  /// holds has no known holder.
  ///
  /// - Parameter process: a process ID, or "self".
  package static func waits(of process: String) -> [FileLockWait] {
    let waiters = waiters(of: process)
    guard !waiters.isEmpty, let locks = SystemFile.text("/proc/locks"),
      // The IDs in the file are those of the PID namespace of /proc.
      let processID = UInt32(SystemFile.target("/proc/self") ?? "").flatMap({
        process == "self" ? $0 : UInt32(process)
      })
    else { return [] }
    let ownID = ownID("NStgid:", at: "/proc/\(process)") ?? processID
    return waits(of: waiters, processID, locks: locks) { holder in
      SystemFile.text("/proc/\(holder)/comm", isOneRecord: true).map { String($0.dropLast()) }
    }.compactMap { wait in
      // Only a lock that the process itself holds may have the ID that the process uses for itself.
      guard wait.holder == processID else { return wait.holder == ownID ? nil : wait }
      return FileLockWait(threadID: wait.threadID, holder: ownID, holderName: wait.holderName)
    }
  }

  private static func waiters(of process: String) -> [Waiter] {
    let directory = unsafe open("/proc/\(process)/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard directory >= 0 else { return [] }
    defer { close(directory) }
    return (DirectoryNames.of(directory) ?? []).prefix(threadLimit).compactMap { name in
      let place = "/proc/\(process)/task/\(name)"
      guard let text = SystemFile.text(place + "/syscall", isOneRecord: true) else { return nil }
      let words = text.split(separator: " ")
      let arguments = words.dropFirst().prefix(2).compactMap {
        UInt64(digits: $0.dropFirst(2), radix: 16)
      }
      guard let number = words.first.flatMap({ Int(digits: $0) }), arguments.count == 2
      else { return nil }
      let isOfFlock = number == calls.flock
      guard
        isOfFlock
          || number == calls.fcntl
            && FileLockWait.waitingCommands.contains(arguments[1] & 0xFFFF_FFFF),
        let threadID = ownID("NSpid:", at: place) ?? UInt32(name)
      else { return nil }
      var status = stat()
      let file = "/proc/\(process)/fd/\(arguments[0] & 0xFFFF_FFFF)"
      guard unsafe stat(file, &status) == 0 else { return nil }
      return Waiter(threadID: threadID, inode: UInt64(status.st_ino), isOfFlock: isOfFlock)
    }
  }

  /// The ID of a thread or process in its innermost PID namespace, which it uses itself.
  private static func ownID(_ field: String, at place: String) -> UInt32? {
    let line = SystemFile.text(place + "/status")?.lazyLines.first { $0.hasPrefix(field) }
    return line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt32($0) }
  }

  /// A line is "1: FLOCK  ADVISORY  WRITE 4711 08:02:131 0 EOF" for a lock, and has "->" after the number for a wait
  /// for the lock with this number.
  static func waits(
    of waiters: [Waiter], _ processID: UInt32, locks: String, name: (UInt32) -> String?
  ) -> [FileLockWait] {
    struct Line {
      let number: Substring
      let isWait: Bool
      let isOfFlock: Bool
      /// The process; nil for a lock of an open file description, and for a process of another PID namespace.
      let processID: UInt32?
      let inode: UInt64?
    }
    let lines = locks.lazyLines.compactMap { text -> Line? in
      var words = text.split(separator: " ")[...]
      guard let number = words.popFirst() else { return nil }
      let isWait = words.first == "->"
      if isWait { words = words.dropFirst() }
      let fields = Array(words)
      guard fields.count > 4, ["FLOCK", "POSIX", "OFDLCK"].contains(fields[0]) else { return nil }
      return Line(
        number: number, isWait: isWait, isOfFlock: fields[0] == "FLOCK",
        processID: UInt32(fields[3]).flatMap { $0 == 0 ? nil : $0 },
        inode: fields[4].split(separator: ":").last.flatMap { UInt64($0) })
    }
    return waiters.compactMap { waiter in
      let numbers = Set(
        lines.filter {
          $0.isWait && $0.isOfFlock == waiter.isOfFlock && $0.inode == waiter.inode
            && ($0.processID == nil || $0.processID == processID)
        }.map(\.number))
      // If two locks of files with this number are waited for, it is not known which one the thread waits for.
      guard numbers.count == 1,
        let holder = lines.first(where: { !$0.isWait && numbers.contains($0.number) })?.processID
      else { return nil }
      return FileLockWait(threadID: waiter.threadID, holder: holder, holderName: name(holder))
    }
  }
}
