internal import Glibc
package import IntermediateDump
internal import PendingDumps

/// The right to upload the reports of a database, which only one uploader in all processes has at a time.
///
/// The directory `uploader` contains one file, whose name has the form of a dump's claim. The process that renames the
/// file to a name with its own process ID may upload. The report ID in the file's name is the ID of the report that is
/// being sent. `ClaimLiveness` finds out whether the holder is dead, as it does for a converter. The claim uses no file
/// lock.
package struct UploaderClaim: ~Copyable, Sendable {
  static let directoryName = "uploader"
  private static let identifier = "uploader"
  /// The ID in the file's name while no report is being sent.
  private static let none = ReportID(bytes: [UInt8](repeating: 0, count: 16)) ?? ReportID()

  /// The file's name while no uploader has the right to upload; its process ID is 0, as in the name of a released dump.
  private static let freeName = "\(identifier)@\(none).0-0-0-0.claimed"

  private let directory: Directory
  private var name: PendingDumpName
  private var isHeld = true

  deinit {
    guard isHeld else { return }
    _ = try? directory.rename(name.description, to: directory, Self.freeName, replacing: true)
  }

  /// Claims the right to upload; nil if the right cannot be claimed now, usually because another uploader, in this
  /// process or another, has it.
  package static func take(
    in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) -> UploaderClaim? {
    let root = try database.open()
    if try root.status(of: directoryName) == nil { try makeDirectory(in: root) }
    let directory = try root.subdirectory(directoryName)
    guard let (current, status) = try find(in: directory) else {
      // If another program has emptied the directory, the file is created again, for the next attempt.
      try makeDirectory(in: root)
      return nil
    }
    let host = HostIdentity.current()
    // If the file has no usable date, its age counts from the time when an uploader first asks for the right to upload.
    if date(of: status) == nil { FileDate.renew(current.description, in: directory.descriptor) }
    guard verdict(current, status, host).isDead,
      let mine = PendingDumpName(
        identifier: identifier, reportID: none,
        role: .claimed(
          // A random number distinguishes two uploaders of one process.
          attempt: UInt32.random(in: 1 ... .max), processID: host.processID,
          startTime: host.startTime ?? 0, place: host.place))
    else { return nil }
    // If two processes try this rename, the second one does not find the old name, and gets no claim.
    guard
      try directory.rename(current.description, to: directory, mine.description, replacing: true)
        == .done
    else { return nil }
    return UploaderClaim(directory: directory, name: mine)
  }

  /// Records which report is being sent (nil for none), and thereby that the holder is alive.
  ///
  /// - Returns: false if another process took the right to upload. A process that cannot examine this process, for
  ///   example from another PID namespace, may do so after this process has recorded nothing for an hour.
  package mutating func note(_ report: ReportID?) throws(CrashReportDatabaseError) -> Bool {
    guard
      let next = PendingDumpName(
        identifier: Self.identifier, reportID: report ?? Self.none, role: name.role)
    else { return false }
    if next == name { return try directory.status(of: name.description) != nil }
    let result = try directory.rename(
      name.description, to: directory, next.description, replacing: true)
    guard result == .done else {
      isHeld = false
      return false
    }
    name = next
    return true
  }

  /// The report that a running uploader of any process is sending now; nil if none is found.
  package static func reportBeingSent(
    in database: CrashReportDatabase
  ) throws(CrashReportDatabaseError) -> ReportID? {
    let root = try database.open()
    guard try root.status(of: directoryName) != nil else { return nil }
    let directory = try root.subdirectory(directoryName)
    guard let (current, status) = try find(in: directory), current.reportID != none,
      !verdict(current, status, HostIdentity.current()).isDead
    else { return nil }
    return current.reportID
  }

  /// The only file in the directory; nil if there is none, or if it is being renamed.
  private static func find(
    in directory: borrowing Directory
  ) throws(CrashReportDatabaseError) -> (PendingDumpName, FileStatus)? {
    for fileName in try directory.names() {
      if let name = PendingDumpName(fileName: fileName), case .claimed = name.role,
        let status = try directory.status(of: fileName)
      {
        return (name, status)
      }
    }
    return nil
  }

  private static func verdict(
    _ name: PendingDumpName, _ status: FileStatus, _ host: HostIdentity
  ) -> OwnerVerdict {
    guard case .claimed(_, let processID, let startTime, let place, _) = name.role else {
      return .alive("not a claim")
    }
    return ClaimLiveness.verdict(
      processID: processID, startTime: startTime, place: place, host: host,
      age: date(of: status).map { SystemClock.now.clampedSubtracting($0) } ?? 0)
  }

  /// The date of a file; nil if the clock was not set when the file was written, or is not set now.
  private static func date(of status: FileStatus) -> Int64? {
    FileDate.latest(of: [status.modificationTime, status.changeTime])
  }

  /// Creates the claim's directory, with the file in it, in one atomic step.
  ///
  /// If several processes call this function at the same time, only one of them succeeds, because a rename does not
  /// replace a directory that contains a file.
  private static func makeDirectory(in root: borrowing Directory) throws(CrashReportDatabaseError) {
    let workshop = try root.subdirectory(.new)
    let temporary = "\(directoryName).\(UInt64.random(in: .min ... .max)).tmp"
    let directory = try workshop.subdirectory(temporary, create: true)
    _ = try directory.create(freeName)
    guard unsafe renameat(workshop.descriptor, temporary, root.descriptor, directoryName) != 0
    else {
      return try root.synchronize()
    }
    let failure = errno
    try? directory.remove(freeName)
    unsafe unlinkat(workshop.descriptor, temporary, AT_REMOVEDIR)
    guard failure == EEXIST || failure == ENOTEMPTY else {
      throw CrashReportDatabaseError(
        systemCall: "making \(root.path)/\(directoryName)", errno: failure)
    }
  }
}
