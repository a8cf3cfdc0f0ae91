internal import IntermediateDump

/// Whether the converter that a claim names may still be at work.
package enum ClaimLiveness {
  /// How long a claim stands whose converter cannot be judged from here, in nanoseconds.
  package static let unjudgedLimit: Int64 = 3_600_000_000_000

  /// Decides.
  ///
  /// - Parameters:
  ///   - age: nanoseconds since the claim was made; negative if the clock was set back.
  ///   - probe: looks at a process of this PID namespace.
  package static func verdict(
    processID: UInt32, startTime: UInt64, place: UInt32, host: HostIdentity, age: Int64,
    probe: (UInt32) -> ProcessProbe = ProcessProbe.look(at:)
  ) -> OwnerVerdict {
    if processID == 0 { return .dead("given back") }
    if place != 0, place == host.place {
      switch probe(processID) {
      case .missing: return .dead("converter \(processID) is gone")
      case .unreadable: break
      case .found(let found):
        return found.startTime == startTime && !found.hasEnded
          ? .alive("converter \(processID) runs") : .dead("converter \(processID) has ended")
      }
    }
    return age.magnitude > unjudgedLimit.magnitude
      ? .dead("claimed more than an hour ago, by a process that is not to be seen from here")
      : .alive("claimed by a process that is not to be seen from here")
  }
}
