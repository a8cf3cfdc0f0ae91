internal import Glibc
package import IntermediateDump

/// Whether the converter that a claim names may still be at work.
package enum ClaimLiveness {
  /// How long a claim stands whose converter cannot be judged from here, in nanoseconds.
  package static let unjudgedLimit: Int64 = 3_600_000_000_000

  /// Decides: by the process where it can be seen from here, else by its witness in the same boot,
  /// else by age.
  ///
  /// - Parameters:
  ///   - age: nanoseconds since the claim was made; negative if the clock was set back.
  ///   - isLocalFileSystem: true if only this machine writes there.
  ///   - probe: looks at a process of this PID namespace.
  ///   - witness: looks at the claim's witness; only asked for in its own boot.
  package static func verdict(
    processID: UInt32, startTime: UInt64, place: UInt32, witness: PendingDumpName.Witness? = nil,
    host: HostIdentity, age: Int64, isLocalFileSystem: Bool = false,
    probe: (UInt32) -> ProcessProbe = ProcessProbe.look(at:),
    witnessProbe: (UInt64) -> ClaimWitness.Probe = { _ in .unknown }
  ) -> OwnerVerdict {
    if processID == 0 { return .dead("given back") }
    if place != 0, place == host.place {
      switch probe(processID) {
      case .missing: return .dead("converter \(processID) is gone")
      case .unreadable: break
      case .found(let found):
        guard found.startTime == startTime, !found.hasEnded else {
          return .dead("converter \(processID) has ended")
        }
        // This process itself: a call that could not give the dump back.
        if processID == host.processID, let witness, witness.boot == host.boot,
          witnessProbe(witness.number) == .free
        {
          return .dead("the call that claimed it is over")
        }
        return .alive("converter \(processID) is at work on it")
      }
    }
    if let witness, host.boot != 0 {
      if witness.boot != host.boot {
        if isLocalFileSystem { return .dead("its machine was started again since") }
      } else {
        switch witnessProbe(witness.number) {
        case .free: return .dead("nobody holds its converter's FIFO")
        case .held: return .alive("a converter that is not to be seen from here is at work on it")
        case .unknown: break
        }
      }
    }
    let magnitude = Int64(clamping: age.magnitude)
    return magnitude > unjudgedLimit
      ? .dead("claimed more than an hour ago, by a process that is not to be seen from here")
      : .alive(
        "claimed by a process that is not to be seen from here", still: unjudgedLimit &- magnitude)
  }
}

/// Whether somebody may still need a file, and how that is known.
package enum OwnerVerdict: Sendable, Equatable {
  /// With the nanoseconds after which it will be taken for dead; nil where only its end ends it.
  case alive(String, still: Int64? = nil)
  case dead(String)

  package var isDead: Bool {
    if case .dead = self { true } else { false }
  }
}

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
