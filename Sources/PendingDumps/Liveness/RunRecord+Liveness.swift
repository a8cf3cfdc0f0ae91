extension RunRecord {
  /// True if the record is from this boot and PID namespace, and `/proc` shows this namespace, so that the record's
  /// process ID is valid here.
  package func isOfSamePlace(_ host: HostIdentity) -> Bool {
    host.isProcOurs && bootID == host.bootID && processNamespace != nil
      && processNamespace == host.processNamespace
  }

  /// True if the record's start time can be compared with start times that this process reads.
  ///
  /// The kernel shifts the start times that a process reads by the offset of the reader's time namespace. So both start
  /// times must be read in the same time namespace.
  ///
  /// Source: time_namespaces(7); Linux fs/proc/array.c, do_task_stat.
  package func isOfSameTime(_ host: HostIdentity) -> Bool {
    timeNamespace == host.timeNamespace
  }

  /// Gathers the evidence about whether a file's owner is alive.
  ///
  /// - Parameters:
  ///   - record: the run record; nil if there is none or it is damaged.
  ///   - name: the name of the locked file, or of any other file of the same owner.
  ///   - directory: the descriptor of the directory that contains these files.
  ///   - isLocalFileSystem: true if only this machine writes to the file system.
  ///   - age: the number of nanoseconds since the locked file or its run record was last written.
  ///   - isOwnIdentifier: true if the file belongs to the same program as the asking process.
  package static func evidence(
    _ record: RunRecord?, of name: PendingDumpName, in directory: Int32, host: HostIdentity,
    isLocalFileSystem: Bool, age: Int64, isOwnIdentifier: Bool
  ) -> LivenessEvidence {
    var evidence = LivenessEvidence(
      .owner, processID: record?.processID ?? 0, place: .unknown,
      isLocalFileSystem: isLocalFileSystem, age: age,
      ageLimit: isOwnIdentifier ? LivenessEvidence.ownAgeLimit : LivenessEvidence.foreignAgeLimit)
    if let record {
      evidence.place = record.place(host, isLocalFileSystem: isLocalFileSystem)
      if evidence.place == .here { evidence.process = ProcessProbe.look(at: record.processID) }
      if record.startTime != 0, record.isOfSameTime(host) { evidence.startTime = record.startTime }
      if record.stackStart != 0 { evidence.stackStart = record.stackStart }
    }
    // If no process has the ID, the owner is dead, and no other evidence is needed. Starting the handler may examine
    // many files, so the early return saves many system calls.
    if evidence.process == .missing { return evidence }
    evidence.fifo = FIFOProbe.look(at: name.with(role: .fifo).description, in: directory)
    if record?.isMapped == true {
      evidence.lease = RecordLease.probe(
        name.with(role: .runRecord).description, in: directory)
    }
    return evidence
  }

  private func place(
    _ host: HostIdentity, isLocalFileSystem: Bool
  ) -> LivenessEvidence.Place {
    // An owner that could not read /proc did not know its boot ID, so its record contains none. If only this machine
    // writes to the file system, the owner ran on this machine. The same boot can then be assumed safely: after a
    // reboot, no process holds the FIFO or maps the record.
    if bootID.isEmpty { return isLocalFileSystem && host.bootID != nil ? .sameBoot : .unknown }
    if isOfSamePlace(host) { return .here }
    return host.bootID.map { $0 == bootID ? .sameBoot : .otherBoot } ?? .unknown
  }
}

extension LivenessEvidence {
  private static let hour: Int64 = 3_600_000_000_000
  /// The ages of a file, in nanoseconds, after which its owner counts as dead: for files of the asking program, and for
  /// files of other programs.
  static let ownAgeLimit = 24 &* hour
  static let foreignAgeLimit = 60 &* 24 &* hour
}
