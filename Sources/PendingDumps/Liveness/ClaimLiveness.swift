/// Decides whether the converter that a claim names may still be working on the dump.
package enum ClaimLiveness {
  /// How long, in nanoseconds, a claim stays valid if its converter cannot be examined.
  package static let unjudgedLimit: Int64 = 3_600_000_000_000

  /// Decides whether a claim's converter is alive, by the rules of `LivenessEvidence`.
  ///
  /// If a running converter is treated as dead, no data is lost: two converters then process the dump, and the
  /// database keeps one report of it. So the FIFO alone is enough evidence that a converter is dead.
  ///
  /// - Parameters:
  ///   - age: the number of nanoseconds since the claim was made; negative if the clock was set back.
  ///   - isLocalFileSystem: true if only this machine writes to the file system.
  ///   - probe: examines a process in this PID namespace.
  ///   - witnessProbe: examines the FIFO that the claim names.
  package static func verdict(
    processID: UInt32, startTime: UInt64, place: UInt32, witness: PendingDumpName.Witness? = nil,
    host: HostIdentity, age: Int64, isLocalFileSystem: Bool = false,
    probe: (UInt32) -> ProcessProbe = ProcessProbe.look(at:),
    witnessProbe: (UInt64) -> FIFOProbe = { _ in .unreadable }
  ) -> OwnerVerdict {
    if processID == 0 { return .dead("given back") }
    var evidence = LivenessEvidence(
      .converter, processID: processID, place: .unknown, startTime: startTime,
      isLocalFileSystem: isLocalFileSystem, age: Int64(clamping: age.magnitude),
      ageLimit: unjudgedLimit)
    if place != 0, place == host.place {
      evidence.place = .here
      evidence.process = probe(processID)
    } else if let witness, host.boot != 0 {
      evidence.place = witness.boot == host.boot ? .sameBoot : .otherBoot
    }
    if let witness {
      let found = witnessProbe(witness.number)
      evidence.fifo = found == .missing ? .noReader : found
      // A converter maps no run record, so its FIFO alone decides.
      evidence.lease = .granted
    }
    let verdict = evidence.verdict
    // If this process itself made the claim, the rules do not suffice. An earlier conversion may have ended without
    // giving the dump back; the process is then alive, but that conversion has closed its FIFO.
    if !verdict.isDead, evidence.place == .here, processID == host.processID,
      evidence.fifo == .noReader
    {
      return .dead("the call that claimed it has ended")
    }
    return verdict
  }
}
