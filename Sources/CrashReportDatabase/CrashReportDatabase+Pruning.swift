internal import Glibc
public import IntermediateDump
internal import PendingDumps

extension CrashReportDatabase {
  /// Removes the reports that exceed the limits of a condition, including pending ones, and the leftovers of dead
  /// processes.
  ///
  /// Such leftovers are half-written reports, and metadata and attachments without a report.
  ///
  /// Leftovers are removed when they are three days old. Dates from a clock that was not set are ignored. A report with
  /// such a date counts as new, and its age begins with the first call after the clock is set.
  ///
  /// - Returns: the removed reports, newest first. If a report cannot be removed, the function does not throw, and the
  ///   next call tries again.
  /// - Throws: `CrashReportDatabaseError` only if the directories cannot be read.
  ///
  /// Source: Crashpad `client/prune_crash_reports.cc`, PruneCrashReportDatabase;
  /// `client/crash_report_database_generic.cc`, CleanDatabase.
  @discardableResult
  public func prune(
    _ condition: PruneCondition = PruneCondition()
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    try prune(condition) { _ in }
  }

  /// Prunes like the public function, and passes errors to `passedOver`.
  ///
  /// - Parameter passedOver: receives the error of each file that cannot be read or removed, possibly more than once.
  package func prune(
    _ condition: PruneCondition, passedOver: (CrashReportDatabaseError) -> Void
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    var removed: [StoredReport] = []
    for report in try excess(condition, passedOver: passedOver) {
      do throws(CrashReportDatabaseError) {
        if try delete(report.id) { removed.append(report) }
      } catch {
        passedOver(error)
      }
    }
    try renewImpossibleDates()
    try removeLeftovers(passedOver)
    return removed
  }

  /// Removes finished dumps that exceed their bound, which takes the directory's file system into account.
  ///
  /// - Parameters:
  ///   - database: the database's directory, whose reports need not exist.
  ///   - pending: the directory of pending dumps.
  ///   - host: the host identity of the calling process.
  package static func boundDumps(
    of database: borrowing Directory, in pending: borrowing Directory, host: HostIdentity
  ) {
    var identifiers: Set<String>?
    PendingDumpBound(directory: pending, identifier: nil, host: host).apply { identifier in
      let known =
        identifiers
        ?? Set(ReportIndex(in: database).programs.map(PendingDumpName.identifier(reducing:)))
      identifiers = known
      return known.contains(identifier)
    }
  }

  /// Renews the dates of reports that were created while the clock was not set, so the age of these reports counts from
  /// now.
  private func renewImpossibleDates() throws(CrashReportDatabaseError) {
    let now = Timestamp(nanoseconds: SystemClock.now)
    let database = try open()
    for report in try listing().reports where !report.date(at: now).isPossible(at: now) {
      FileDate.renew(
        StoredReport.fileName(report.id), in: try database.subdirectory(report.state).descriptor)
    }
  }

  /// The reports that `prune` would remove, newest first.
  public func excess(
    _ condition: PruneCondition = PruneCondition()
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    try excess(condition) { _ in }
  }

  /// Returns the same reports as `excess(_:)`, and passes errors to `passedOver`.
  ///
  /// - Parameter passedOver: receives the error of each file that cannot be read.
  package func excess(
    _ condition: PruneCondition, passedOver: (CrashReportDatabaseError) -> Void
  ) throws(CrashReportDatabaseError) -> [StoredReport] {
    let database = try open()
    let attachments = try database.subdirectory(Self.attachmentsDirectory)
    let listing = try listing()
    listing.sortedFailures.forEach(passedOver)
    var sized: [(report: StoredReport, size: Int64)] = []
    for report in listing.reports where report.state != .new {
      var attached: Int64 = 0
      do throws(CrashReportDatabaseError) {
        attached = try attachments.sizeOfFiles(in: report.id.description)
      } catch {
        guard error.concernsOneFile else { throw error }
        passedOver(error)
      }
      sized.append((report, report.size.clampedAdding(attached)))
    }
    // Read only if the groups are needed.
    var index: ReportIndex?
    return condition.excess(
      among: sized, now: Int64(time(nil)),
      limit: VolumeRoom(of: database.descriptor)?.limit(condition.maximumSize)
        ?? condition.maximumSize
    ) { report in
      let known = index ?? ReportIndex(in: database)
      index = known
      let facts = known.facts(of: report, withDetails: false)
      guard let program = facts?.program, let signature = facts?.signature else { return nil }
      return "\(program)\n\(signature)"
    }
  }

  /// Removes a pending or completed report with its metadata and attachments.
  ///
  /// The removal survives a power failure. If the report's dump is still pending, the report is made again.
  ///
  /// - Returns: false if the database has no such report.
  /// - Throws: `CrashReportDatabaseError` if a file cannot be examined or removed.
  @discardableResult
  public func delete(_ id: ReportID) throws(CrashReportDatabaseError) -> Bool {
    let database = try open()
    var isFound = false
    // The states are searched in the order in which a report passes through them, so that a report that moves meanwhile
    // is not missed. The minidump is removed first. If this process ends before the rest is removed, a prune removes
    // the other files when they are three days old.
    for state in [.pending, .completed] as [StoredReport.State] {
      let directory = try database.subdirectory(state)
      guard try directory.status(of: StoredReport.fileName(id))?.kind == .regular else { continue }
      isFound = true
      try directory.remove(StoredReport.fileName(id))
      try directory.remove(StoredReport.metadataName(id))
      try directory.synchronize()
    }
    if isFound {
      try database.subdirectory(Self.attachmentsDirectory).removeDirectory(id.description)
    }
    return isFound
  }

  /// The minimum age in nanoseconds of leftovers of dead processes; younger files may belong to a running process.
  static let leftoverAge: Int64 = 259_200_000_000_000

  private func removeLeftovers(
    _ passedOver: (CrashReportDatabaseError) -> Void
  ) throws(CrashReportDatabaseError) {
    let database = try open()
    let oldest = SystemClock.now &- Self.leftoverAge
    try removeOld(in: database.subdirectory(.new), before: oldest, passedOver) {
      (name) throws(CrashReportDatabaseError) in name.hasSuffix(".dmp") || name.hasSuffix(".tmp")
    }
    for state in [.pending, .completed] as [StoredReport.State] {
      let directory = try database.subdirectory(state)
      try removeOld(in: directory, before: oldest, passedOver) {
        (name) throws(CrashReportDatabaseError) in
        guard let id = StoredReport.id(metadataName: name) else { return false }
        return try directory.status(of: StoredReport.fileName(id)) == nil
      }
    }
    let attachments = try database.subdirectory(Self.attachmentsDirectory)
    for name in try attachments.names() {
      do throws(CrashReportDatabaseError) {
        guard let id = ReportID(name), id.description == name,
          let status = try attachments.status(of: name), status.kind == .directory,
          attachments.isLeft(name, status, before: oldest), try report(id) == nil
        else { continue }
        try attachments.removeDirectory(name)
      } catch {
        passedOver(error)
      }
    }
  }

  /// Removes leftovers of dead processes from a directory: regular files, and subdirectories that contain only
  /// regular files.
  ///
  /// Only leftovers that have not changed since `time` are removed.
  ///
  /// - Parameter passedOver: receives the error of each file that cannot be read or removed.
  func removeOld(
    in directory: borrowing Directory, before time: Int64,
    _ passedOver: (CrashReportDatabaseError) -> Void = { _ in },
    where isLeftover: (String) throws(CrashReportDatabaseError) -> Bool
  ) throws(CrashReportDatabaseError) {
    for name in try directory.names() {
      do throws(CrashReportDatabaseError) {
        guard try isLeftover(name), let status = try directory.status(of: name),
          directory.isLeft(name, status, before: time)
        else { continue }
        switch status.kind {
        case .regular: try directory.remove(name)
        // An uploader that was killed while it created its claim's directory left this directory.
        case .directory: try directory.removeDirectory(name)
        default: continue
        }
      } catch {
        passedOver(error)
      }
    }
  }
}

extension Directory {
  /// True if the last change of a file was before `time`.
  ///
  /// If the file has no plausible date, its date is renewed, and the result is false.
  fileprivate func isLeft(_ name: String, _ status: FileStatus, before time: Int64) -> Bool {
    if let date = FileDate.latest(of: [status.modificationTime, status.changeTime]) {
      return date < time
    }
    FileDate.renew(name, in: descriptor)
    return false
  }

  /// The number of bytes of the regular files in a subdirectory; 0 if there is no such subdirectory.
  func sizeOfFiles(in name: String) throws(CrashReportDatabaseError) -> Int64 {
    guard try status(of: name)?.kind == .directory else { return 0 }
    let directory = try subdirectory(name)
    var sum: Int64 = 0
    for name in try directory.names() {
      guard let status = try directory.status(of: name), status.kind == .regular else { continue }
      sum = sum.clampedAdding(max(0, status.size))
    }
    return sum
  }

  /// Removes a subdirectory and the files in it; it is not an error if the subdirectory is missing.
  ///
  /// - Throws: `CrashReportDatabaseError` if a file cannot be removed, or if the subdirectory contains directories.
  func removeDirectory(_ name: String) throws(CrashReportDatabaseError) {
    guard try status(of: name)?.kind == .directory else { return }
    do {
      let directory = try subdirectory(name)
      for file in try directory.names() { try directory.remove(file) }
    }
    guard unsafe unlinkat(descriptor, name, AT_REMOVEDIR) == 0 || errno == ENOENT else {
      throw CrashReportDatabaseError(systemCall: "removing \(path)/\(name)", errno: errno)
    }
  }
}
