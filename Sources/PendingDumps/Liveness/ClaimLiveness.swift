/// Decides whether the converter that a claim names may still be at work.
package enum ClaimLiveness {
  /// The time for which a claim is valid whose converter cannot be examined, in nanoseconds.
  package static let unjudgedLimit: Int64 = 3_600_000_000_000

  /// Decides by the process where it is visible, else by its witness in the same boot, else by age.
  ///
  /// - Parameters:
  ///   - age: nanoseconds since the claim was made; negative if the clock was set back.
  ///   - isLocalFileSystem: true if only this machine writes there.
  ///   - probe: looks at a process of this PID namespace.
  ///   - witnessProbe: looks at the claim's witness; only asked for in its own boot.
  package static func verdict(
    processID: UInt32, startTime: UInt64, place: UInt32, witness: PendingDumpName.Witness? = nil,
    host: HostIdentity, age: Int64, isLocalFileSystem: Bool = false,
    probe: (UInt32) -> ProcessProbe = ProcessProbe.look(at:),
    witnessProbe: (UInt64) -> FIFOProbe = { _ in .unreadable }
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
        // A call of this process that could not give the dump back.
        if processID == host.processID, let witness, witness.boot == host.boot,
          [.noReader, .missing].contains(witnessProbe(witness.number))
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
        case .noReader, .missing: return .dead("nobody holds its converter's FIFO")
        case .hasReader:
          return .alive("a converter that is not to be seen from here is at work on it")
        case .unreadable: break
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

/// The state of a file's owner, and the evidence.
package enum OwnerVerdict: Sendable, Equatable {
  /// With the nanoseconds after which it is taken for dead; nil for never.
  case alive(String, still: Int64? = nil)
  case dead(String)

  package var isDead: Bool {
    if case .dead = self { true } else { false }
  }
}
