/// A thread that waits for the lock of a file, by flock(2) or fcntl(2), and the process that holds the lock.
package struct FileLockWait: Sendable, Equatable {
  /// The kernel's ID of the waiting thread.
  package var threadID: UInt32
  /// The ID of the process that holds the lock, in the PID namespace of the process that looked the lock up.
  package var holder: UInt32
  /// The name of that process, as in `/proc/<pid>/comm`; nil if it is not known.
  package var holderName: String?

  package init(threadID: UInt32, holder: UInt32, holderName: String? = nil) {
    (self.threadID, self.holder, self.holderName) = (threadID, holder, holderName)
  }
}

extension FileLockWait {
  /// The numbers of the system calls flock and fcntl.
  ///
  /// Source: Linux arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
  package static func calls(isARM64: Bool) -> (flock: Int, fcntl: Int) {
    isARM64 ? (32, 25) : (73, 72)
  }

  /// The commands of fcntl that wait: F_SETLKW and F_OFD_SETLKW.
  package static let waitingCommands: Set<UInt64> = [7, 38]
}

extension [FileLockWait] {
  /// The waits as tokens of a dump; empty if there are none.
  package var tokens: [UInt8] {
    guard !isEmpty else { return [] }
    return IntermediateDumpEncoding.encode { writer in
      writer.startArray(.fileLocks)
      for wait in self {
        writer.startMap(.fileLock)
        writer.unsigned(.fileLockThreadID, UInt64(wait.threadID), width: 4)
        writer.unsigned(.fileLockHolder, UInt64(wait.holder), width: 4)
        writer.text(.fileLockHolderName, wait.holderName)
        writer.end()
      }
      writer.end()
    } ?? []
  }
}
