/// The evidence about whether the owner of a locked file, or the converter that a claim names, is alive.
///
/// `verdict` applies the following rules, in this order. The converter, `PendingDumpBound` and the `postmortem`
/// command use `verdict`. "The process" is the owner or the converter, and "the asking process" is the one that calls
/// `verdict`.
///
/// - Rule 1: The asking process has the same boot and PID namespace, and no process, or only a zombie, has the
///   process's ID: dead. This rule comes before rule 2, because a child of the dead process may hold the FIFO open.
/// - Rule 2: The FIFO has a reader, or a process maps the run record: alive. This rule comes before rule 3,
///   because a process restored from a checkpoint has another start time, and a mount can hide the real boot ID.
/// - Rule 3: The asking process has the same boot and PID namespace: dead if the start time or the start of the stack
///   differs; alive if both are equal, or if one is equal and the other cannot be read.
/// - Rule 4: The boot is the same, the FIFO has no reader, and no process maps the record that the owner had mapped:
///   dead. Both signs are needed, because a program may close the FIFO, and overlayfs hides the mapping.
/// - Rule 5: The boot is different, and no other machine writes to the file system: dead.
/// - Rule 6: Otherwise the age of the file decides: dead if nothing was written to it for 24 hours, or for 60 days if
///   it belongs to another program.
///
/// A rule whose evidence cannot be read is skipped. If two rules conflict, the earlier one decides.
package struct LivenessEvidence: Sendable {
  /// How the boot and PID namespace of the process relate to those of the asking process.
  package enum Place: Sendable, Equatable {
    /// The same boot and PID namespace.
    case here
    case sameBoot
    case otherBoot
    case unknown
  }

  /// The kind of process, for messages.
  package enum Subject: Sendable {
    case owner, converter
  }

  package var subject: Subject
  package var processID: UInt32
  package var place: Place
  /// The process that has the process ID now; used only if boot and PID namespace are the same.
  package var process: ProcessProbe
  /// The process's start time; nil if it is not known, or was read in another time namespace.
  package var startTime: UInt64?
  /// The start of the process's stack; nil if it is not known.
  package var stackStart: UInt64?
  package var fifo: FIFOProbe
  /// Whether the kernel grants a lease on the owner's run record; `.unknown` if the owner does not map the record.
  ///
  /// For a converter, which has no run record, the value is `.granted` if its claim names a FIFO, otherwise `.unknown`.
  package var lease: RecordLease
  /// True if only this machine writes to the file system.
  package var isLocalFileSystem: Bool
  /// The time in nanoseconds since the file was last written or, for a converter, since the claim was made.
  package var age: Int64
  /// The age of the file, in nanoseconds, after which the process counts as dead.
  package var ageLimit: Int64

  package init(
    _ subject: Subject, processID: UInt32, place: Place, process: ProcessProbe = .unreadable,
    startTime: UInt64? = nil,
    stackStart: UInt64? = nil, fifo: FIFOProbe = .unreadable, lease: RecordLease = .unknown,
    isLocalFileSystem: Bool, age: Int64, ageLimit: Int64
  ) {
    self.subject = subject
    self.processID = processID
    self.place = place
    self.process = process
    self.startTime = startTime
    self.stackStart = stackStart
    self.fifo = fifo
    self.lease = lease
    self.isLocalFileSystem = isLocalFileSystem
    self.age = age
    self.ageLimit = ageLimit
  }

  /// The verdict of the first rule that decides whether the process is alive, with the reason.
  package var verdict: OwnerVerdict {
    absence ?? witness ?? identity ?? absentWitnesses ?? boot ?? ageAlone
  }

  private var title: String {
    switch subject {
    case .owner: "process \(processID)"
    case .converter: "converter \(processID)"
    }
  }

  /// Rule 1: dead if no process has the process ID, or if the process with that ID has ended.
  private var absence: OwnerVerdict? {
    guard place == .here else { return nil }
    switch process {
    case .missing: return .dead("\(title) is gone")
    case .found(let found) where found.hasEnded: return .dead("\(title) has ended")
    case .found, .unreadable: return nil
    }
  }

  /// Rule 2: the owner is alive if a process on this kernel holds its FIFO open or maps its run record.
  ///
  /// This rule applies on any file system, whatever the boot ID is.
  private var witness: OwnerVerdict? {
    if fifo == .hasReader { return .alive("a process holds the FIFO of \(title)") }
    if lease == .refused { return .alive("a process maps the run record of \(title)") }
    return nil
  }

  private var identity: OwnerVerdict? {
    guard place == .here, case .found(let found) = process else { return nil }
    if let startTime, found.startTime != startTime {
      return .dead("\(title) is a different process")
    }
    // The kernel shows the stack's start as 0 if this process may not trace the other one, for example because the
    // other one belongs to another user.
    let stack = found.stackStart == 0 ? nil : stackStart
    if let stack, found.stackStart != stack { return .dead("\(title) runs another program") }
    guard startTime != nil || stack != nil else { return nil }
    return .alive(subject == .owner ? "\(title) runs" : "\(title) is working on it")
  }

  private var absentWitnesses: OwnerVerdict? {
    guard place == .here || place == .sameBoot, fifo == .noReader, lease == .granted else {
      return nil
    }
    return .dead(
      "no process holds the FIFO of \(title)" + (subject == .owner ? " or maps its run record" : "")
    )
  }

  private var boot: OwnerVerdict? {
    place == .otherBoot && isLocalFileSystem ? .dead("its machine was restarted since") : nil
  }

  private var ageAlone: OwnerVerdict {
    let hour: Int64 = 3_600_000_000_000
    guard age <= ageLimit else { return .dead("unchanged for \(age / hour) hours") }
    return .alive(
      subject == .owner
        ? "nothing shows that its owner has ended"
        : "claimed by a process that cannot be seen from here",
      still: ageLimit.subtractingReportingOverflow(age).partialValue)
  }
}

/// Whether a process is alive, with the reason.
package enum OwnerVerdict: Sendable, Equatable {
  /// The process is, or may be, alive; it will count as dead after `still` nanoseconds. If `still` is nil, the process
  /// does not count as dead at any age.
  case alive(String, still: Int64? = nil)
  case dead(String)

  package var isDead: Bool {
    if case .dead = self { true } else { false }
  }
}
