internal import Glibc
package import IntermediateDump

/// What can be learned about a process by its ID.
package enum ProcessProbe: Sendable, Equatable {
  /// No process has this ID.
  case missing
  /// One has, but `/proc` does not tell more of it.
  case unreadable
  case found(ProcessStatistics)

  /// Looks at a process of this PID namespace.
  package static func look(at processID: UInt32) -> ProcessProbe {
    guard let processID = pid_t(exactly: processID), processID > 0 else { return .unreadable }
    if let text = ProcFile.contents("/proc/\(processID)/stat") {
      guard let statistics = ProcessStatistics(statText: text) else { return .unreadable }
      return .found(statistics)
    }
    // A mount option can hide other users' processes in /proc; the kernel still knows them.
    return kill(processID, 0) != 0 && errno == ESRCH ? .missing : .unreadable
  }
}
