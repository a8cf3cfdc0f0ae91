internal import CrashReportDatabase
internal import IntermediateDump
internal import PendingDumps

/// The directory of pending dumps: decides which dumps may be converted, and claims them.
struct PendingDirectory: ~Copyable {
  /// A file whose name `PendingDumpName` can parse, with the file's status when the directory was listed.
  struct File: Sendable {
    let name: PendingDumpName
    /// The status, or the error of reading it; the file exists in both cases.
    let status: Result<FileStatus, CrashReportDatabaseError>

    /// The size in bytes; 0 if the status could not be read.
    var size: Int64 { (try? status.get().size) ?? 0 }
    /// The modification time in nanoseconds since 1970; the latest possible time if the status could not be read.
    var modificationTime: Int64 { (try? status.get().modificationTime) ?? .max }
  }

  let directory: Directory
  /// The database's directory, which contains `directory`.
  let root: Directory
  let host: HostIdentity
  let isLocalFileSystem: Bool
  /// The identifier of the program whose dumps are converted first; nil for no preference.
  let identifier: String?
  /// The current time in nanoseconds since 1970.
  let now: Int64
  /// The end of a process that the caller has waited for; nil if there is none.
  let observedEnd: ObservedEnd?
  /// The error of reading the host's identity; nil if it was read.
  private let hostFailure: CrashReportDatabaseError?
  /// The FIFO by which other processes detect that this process's claims in this directory are valid.
  private let witness = ClaimWitness()

  /// Opens the directory; creates it if it is missing.
  ///
  /// - Parameter database: the directory of the database, in which the directory of pending dumps is.
  init(
    database: consuming Directory, identifier: String?, observedEnd: ObservedEnd? = nil
  ) throws(CrashReportDatabaseError) {
    let directory = try database.subdirectory(PendingDumpName.directory, create: true)
    let refusals = SystemRefusals.now
    isLocalFileSystem = LocalFileSystem.contains(descriptor: directory.descriptor)
    self.directory = directory
    root = database
    self.identifier = identifier
    self.observedEnd = observedEnd
    host = HostIdentity.current()
    hostFailure = Self.failure(since: refusals)
    now = SystemClock.now
  }

  private static func failure(since refusals: SystemRefusals.Point) -> CrashReportDatabaseError? {
    refusals.refusalSince.map {
      CrashReportDatabaseError(
        systemCall: "reading /proc to find the processes that have ended", errno: $0)
    }
  }

  /// Throws if the system has refused a read since the caller stored `SystemRefusals.now` as `refusals`.
  func checkRefusals(since refusals: SystemRefusals.Point) throws(CrashReportDatabaseError) {
    if let failure = Self.failure(since: refusals) { throw failure }
  }

  /// All files whose names `PendingDumpName` can parse, except those whose kind (FIFO or regular file) does not fit the
  /// name.
  func files() throws(CrashReportDatabaseError) -> [File] {
    var files: [File] = []
    for fileName in try directory.names() {
      guard let name = PendingDumpName(fileName: fileName) else { continue }
      do throws(CrashReportDatabaseError) {
        guard let status = try directory.status(of: fileName),
          status.kind == (name.role == .fifo ? .fifo : .regular)
        else { continue }
        files.append(File(name: name, status: .success(status)))
      } catch {
        files.append(File(name: name, status: .failure(error)))
      }
    }
    return files
  }

  /// The dumps among the files, in the order of conversion.
  ///
  /// The dumps of the program `identifier` come first. Hangs come before other dumps, because the report of a hang also
  /// says how the run ended; apart from this, older dumps come before newer ones.
  func dumps(among files: [File]) -> [File] {
    files.filter {
      switch $0.name.role {
      case .finished, .locked, .hang, .claimed: true
      case .runRecord, .fifo: false
      }
    }.sorted { left, right in
      let leftIsOwn = left.name.identifier == identifier
      guard leftIsOwn == (right.name.identifier == identifier) else { return leftIsOwn }
      let leftIsHang = left.name.role == .hang
      guard leftIsHang == (right.name.role == .hang) else { return leftIsHang }
      return (left.modificationTime, left.name.description)
        < (right.modificationTime, right.name.description)
    }
  }

  /// The age of a file in nanoseconds, counted from the latest of `dates`.
  ///
  /// If none of `dates` is plausible, the file's ctime is used instead.
  ///
  /// The result is 0 if all dates come from a clock that was not set. In this case, once the clock is set,
  /// `FileDate.renew` renews the file's ctime, so that later calls count the age from then.
  private func age(
    of name: PendingDumpName, _ status: FileStatus, since dates: [Int64]
  ) -> Int64 {
    if let date = FileDate.latest(of: dates, now: now)
      ?? FileDate.latest(of: [status.changeTime], now: now)
    {
      return now.clampedSubtracting(date)
    }
    FileDate.renew(name.description, in: directory.descriptor)
    return 0
  }

  // MARK: - Owners

  /// Decides whether a locked file's owner may still write to it.
  ///
  /// - Throws: if the system refuses, for a temporary reason, to show the files that tell whether the owner lives.
  func ownerVerdict(_ file: File) throws(CrashReportDatabaseError) -> OwnerVerdict {
    if let hostFailure { throw hostFailure }
    let recordName = file.name.with(role: .runRecord).description
    let recordTime = try directory.status(of: recordName)?.modificationTime ?? .min
    let status = try file.status.get()
    return RunRecord.evidence(
      try runRecord(of: file.name), of: file.name, in: directory.descriptor, host: host,
      isLocalFileSystem: isLocalFileSystem,
      age: age(of: file.name, status, since: [status.modificationTime, recordTime]),
      isOwnIdentifier: file.name.identifier == identifier
    ).verdict
  }

  private func fifoProbe(_ name: PendingDumpName) -> FIFOProbe {
    FIFOProbe.look(at: name.with(role: .fifo).description, in: directory.descriptor)
  }

  // MARK: - Claims

  /// Claims a dump for this process, if the dump may be converted now.
  func claim(_ file: File) throws(CrashReportDatabaseError) -> ClaimResult {
    var attempt: UInt32 = 1
    var preceding = DumpClaim.Attempt.none
    let status = try file.status.get()
    switch file.name.role {
    case .finished: break
    case .locked, .hang:
      let verdict = try ownerVerdict(file)
      if case .alive(let reason, let still) = verdict {
        // An empty file is not reported as left, because every running process with a handler has one.
        guard status.size > 0 else {
          if try saysNothing(file.name) { try removeAll(of: file.name, dump: file.name) }
          return .gone
        }
        return left("its owner may still write to it: \(reason)", still: still)
      }
      // The size is read after the verdict, because the owner may have written to the file until then.
      if file.name.role == .hang, try directory.status(of: file.name.description)?.size == 0 {
        try removeAll(of: file.name, dump: file.name)
        return .gone
      }
    case .claimed(let previous, let processID, let startTime, let place, let witness):
      if let hostFailure { throw hostFailure }
      let verdict = ClaimLiveness.verdict(
        processID: processID, startTime: startTime, place: place, witness: witness, host: host,
        age: age(of: file.name, status, since: [status.modificationTime, status.changeTime]),
        isLocalFileSystem: isLocalFileSystem,
        witnessProbe: { ClaimWitness.probe($0, in: directory.descriptor) })
      if case .alive(let reason, let still) = verdict {
        return left(reason, still: still)
      }
      // If the name contains 0 instead of a process ID, the previous converter released its claim.
      preceding =
        if processID == 0 {
          .failed
        } else if try crashedElsewhere(processID, startTime: startTime, witness) {
          .interrupted
        } else {
          .ended
        }
      // In a crash loop that leaves no time for a conversion, any number of attempts is interrupted.
      attempt = preceding == .interrupted ? previous : previous.clampedAdding(1)
    case .runRecord, .fifo: return .gone
    }
    let claimed = file.name.with(
      role: .claimed(
        attempt: attempt, processID: host.processID, startTime: host.startTime ?? 0,
        place: host.place, witness: witness.witness(in: directory.descriptor, host: host)))
    // This process already has a claimed file with the same report ID: another thread works on this file, or the claim
    // could not be released.
    guard try directory.status(of: claimed.description) == nil else {
      return left("this process is already converting another file of this report", still: nil)
    }
    // The rename alone claims the dump, without a lock. If two converters try it, the second one finds that the old
    // name no longer exists.
    let result = try directory.rename(
      file.name.description, to: directory, claimed.description, replacing: true)
    guard result == .done else { return .gone }
    var claim = DumpClaim(name: claimed, attempt: attempt, preceding: preceding)
    do throws(CrashReportDatabaseError) {
      // The rename has counted this attempt in the file's name. So the attempt counts even if this process ends while
      // it reads the files of the dead run.
      guard file.name.role != .finished, !claim.isSetAside,
        try directory.status(of: claimed.description)?.size == 0
      else { return .taken(claim) }
      claim.run = try hasDump(beside: file.name) ? nil : endedRun(file.name)
    } catch {
      try giveBack(claim, countsAttempt: false)
      throw error
    }
    if claim.run == nil {
      try removeAll(of: file.name, dump: claimed)
      return .gone
    }
    return .taken(claim)
  }

  /// True if nothing is left that could show how the owner of an empty dump file ended.
  ///
  /// Nothing is left if the file system is local, no process holds the owner's FIFO open for reading, and the owner's
  /// run record does not exist. Usually, the owner could not note its end in the record, and therefore removed the
  /// record.
  ///
  /// If the owner is alive after all, removing the file loses no dump: the owner's next crash creates a file with a new
  /// ID.
  private func saysNothing(_ name: PendingDumpName) throws(CrashReportDatabaseError) -> Bool {
    guard isLocalFileSystem, fifoProbe(name) == .noReader else { return false }
    return try directory.status(of: name.with(role: .runRecord).description) == nil
  }

  private func left(_ reason: String, still: Int64?) -> ClaimResult {
    .left(reason, until: still.map { now.addingReportingOverflow($0).partialValue })
  }

  /// True if there is a finished dump with the same report ID that is not empty; such a dump shows how the run ended.
  private func hasDump(beside name: PendingDumpName) throws(CrashReportDatabaseError) -> Bool {
    (try directory.status(of: name.with(role: .finished).description)?.size ?? 0) > 0
  }

  /// The sizes of the dumps with this ID that were not converted yet, also of those that another converter has claimed.
  func sizesOfDumps(_ reportID: ReportID) throws(CrashReportDatabaseError) -> [Int64] {
    var sizes: [Int64] = []
    for fileName in try directory.names() {
      guard let name = PendingDumpName(fileName: fileName), name.reportID == reportID,
        name.role != .runRecord, name.role != .fifo,
        let status = try directory.status(of: fileName)
      else { continue }
      sizes.append(status.size)
    }
    return sizes
  }

  /// Removes a dump, then its owner's FIFO and run record, unless another file with the same report ID needs them.
  func removeAll(
    of name: PendingDumpName, dump: PendingDumpName
  ) throws(CrashReportDatabaseError) {
    try directory.remove(dump.description)
    for role in [.locked, .hang] as [PendingDumpName.Role] {
      if try directory.status(of: name.with(role: role).description) != nil { return }
    }
    try directory.remove(name.with(role: .fifo).description)
    try directory.remove(name.with(role: .runRecord).description)
  }

  /// Removes the run records and FIFOs whose dump no longer exists, because a process died while it created or
  /// removed its files.
  ///
  /// - Parameter files: the files of this directory, listed at any earlier time.
  func removeOrphans(among files: [File]) {
    var dead: [PendingDumpName] = []
    let dumps = Set(self.dumps(among: files).map(\.name.reportID))
    for file in files where !dumps.contains(file.name.reportID) {
      // A converter's FIFO without a reader can be removed, because other processes treat a missing FIFO as one without
      // a reader.
      if ClaimWitness.isAbandoned(file.name, in: directory.descriptor) {
        try? directory.remove(file.name.description)
        continue
      }
      guard (try? isOrphan(file)) == true else { continue }
      dead.append(file.name)
    }
    // The files are listed again. An owner that was starting at the time of the first list may have left a dump and
    // ended before this process checked it; the files of such an owner stay.
    guard !dead.isEmpty, let now = try? self.files() else { return }
    let dumpsNow = Set(self.dumps(among: now).map(\.name.reportID))
    for name in dead where !dumpsNow.contains(name.reportID) {
      // The run record and the FIFO are both evidence about this dead owner, so both are removed.
      try? directory.remove(name.with(role: .fifo).description)
      try? directory.remove(name.with(role: .runRecord).description)
    }
  }

  /// True for the run record or FIFO of a dead owner that has left no dump.
  ///
  /// An owner creates its FIFO first, then its run record, then its dump. So if a dead owner has a record and no
  /// dump, no dump will come. Without a record, the FIFO's owner is not known, so a FIFO must reach a minimum age
  /// first.
  private func isOrphan(_ file: File) throws(CrashReportDatabaseError) -> Bool {
    let status = try file.status.get()
    let age = age(of: file.name, status, since: [status.changeTime])
    let isJudged = try runRecord(of: file.name) != nil
    guard isJudged || age > ClaimLiveness.unjudgedLimit else { return false }
    return try ownerVerdict(file).isDead
  }
}

/// The outcome of an attempt to take a dump.
enum ClaimResult: Sendable {
  case taken(DumpClaim)
  /// The dump no longer exists, or there was nothing to convert.
  case gone
  /// Another process, or another thread of this process, may still need the dump.
  ///
  /// The values are the reason, and the time after which the dump may be taken even without other evidence, in
  /// nanoseconds since 1970. The time is nil if the dump may be taken only once it is no longer needed.
  case left(String, until: Int64?)
}

/// A dump that this process has claimed by renaming it.
struct DumpClaim: Sendable {
  /// How the previous attempt ended.
  enum Attempt: Sendable {
    case none
    /// The converter released its claim, usually after the attempt failed.
    case failed
    /// The converter ended while it worked on the dump.
    case ended
    /// The converter ended by a crash on another thread while it worked on the dump.
    case interrupted
  }

  /// The current name of the dump.
  let name: PendingDumpName
  /// The number of the attempt; 1 for the first.
  ///
  /// An attempt that follows an interrupted one has the same number.
  let attempt: UInt32
  let preceding: Attempt
  /// How the run ended, if the dump is empty.
  var run: EndedRun?

  /// False if the converter of the previous attempt ended while it worked on the dump.
  ///
  /// If the value is false, steps that a report does not need, such as finding names, are skipped.
  var isHarmless: Bool {
    switch preceding {
    case .none, .failed: true
    case .ended, .interrupted: false
    }
  }

  /// True if the dump must not be parsed again.
  ///
  /// The dump is moved to quarantine instead, unless the database already has its report.
  var isSetAside: Bool {
    switch preceding {
    case .none, .interrupted: false
    case .failed: attempt > PendingDirectory.maximumAttempts
    case .ended: attempt >= PendingDirectory.maximumAttempts
    }
  }
}
