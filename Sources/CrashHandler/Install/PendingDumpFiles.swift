internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The files that a running process has in the pending directory: the locked dump, its run record and its FIFO.
///
/// Not crash code. If this value is destroyed without a call to `keep()`, the files are removed again.
struct PendingDumpFiles: ~Copyable {
  let reportID: ReportID
  let lockedName: PendingDumpName
  /// The database's path, absolute and without symbolic links.
  let databasePath: String
  /// The database's path if the caller passed a mount point and the database is a directory inside it; otherwise nil.
  let placeInMountPoint: String?
  /// The contents of the run record of this process.
  let owningRun: RunRecord
  /// True if the process notes in its run record how it ends.
  private(set) var followsRun = false
  /// The mapping of the run record, which shows other processes that this process is alive; none if other processes
  /// could not detect the mapping.
  private(set) var recordMapping = RecordMapping()

  /// True if the file system has changed the inode number of the dump since its creation, as some FUSE servers do.
  private(set) var changesInodes = false

  /// The database's directory, which stays open to reserve a slot in the descriptor table for a crash.
  private var database: Directory
  /// The open pending directory, which contains the files.
  private var directory: Directory
  /// The FIFO's read end, which stays open as long as this process runs; nil if the FIFO could not be created.
  private var fifo: OpenFile?
  /// The run record, open so that notes can be written into it.
  private var record: OpenFile?
  /// The locked dump, which is also open for reading, because the dump may have to be copied.
  private var dump: OpenFile?
  private var hasRecordName = false
  private var isKept = false

  /// Creates the directories, then the FIFO, then the run record, and last the locked dump.
  ///
  /// Because of this order, a locked dump never exists before the files that show whether its owner is alive.
  ///
  /// - Parameters:
  ///   - path: the path of the database directory.
  ///   - identifier: the identifier, which becomes a part of the files' names.
  ///   - record: the run record of this process; its `course` is nil if reports on how processes end are turned off.
  ///   - host: the identity of this process and of the host on which it runs.
  ///   - isTrial: true to create no directories and to delete no dumps, for `DatabaseTrial`. If the pending directory is
  ///     missing, the files are created in the database's directory.
  /// - Throws: `CrashHandlerError.unusableDatabase`, with the path, the reason, and what to do; `invalidIdentifier` if
  ///   the identifier is not valid.
  static func make(
    database path: String, identifier: String, record: RunRecord, host: HostIdentity,
    isTrial: Bool = false
  ) throws(CrashHandlerError) -> PendingDumpFiles {
    // Until `finish` is called, a write beyond the limit on file sizes fails instead of ending the process.
    let writing = FileSizeLimit.isSet ? OwnWriting(raisesLimit: false) : nil
    // These writes are libc's, whose failures are not noted.
    if writing != nil { _ = pm_note_raised(-Int(EFBIG)) }
    defer { writing?.finish() }
    let reportID = randomReportID()
    guard let name = PendingDumpName(identifier: identifier, reportID: reportID, role: .locked)
    else { throw CrashHandlerError(.invalidIdentifier, "'\(identifier)'") }
    do throws(CrashReportDatabaseError) {
      // `DatabaseDirectory` resolves the path by the rules that converters use too. Here, it also creates missing
      // directories.
      let given = try DatabaseDirectory.absolute(path)
      let database = try DatabaseDirectory.openPlace(given, creating: !isTrial)
      let directory = try pendingDirectory(of: database, isTrial: isTrial)
      var files = PendingDumpFiles(
        database: database, given: given, directory: directory, lockedName: name, record: record)
      if !isTrial {
        PendingDumpBound(directory: files.directory, identifier: identifier, host: host)
          .apply(wholly: PendingDumpBound.isDue(for: reportID))
      }
      files.fifo = files.directory.createFIFO(name.with(role: .fifo).description)
      try files.makeRunRecord()
      files.dump = try files.create(name)
      // The file's blocks are preallocated now, so that the dump can be written even if the disk is full by then. On
      // a file system that cannot preallocate (EOPNOTSUPP), a dump needs free space at the time of the crash.
      _ = pm_preallocate(files.heldDump.descriptor, DumpFile.preallocated)
      files.changesInodes = unsafe files.heldDump.identity.isGone(
        from: name.description, in: files.directory.descriptor, flags: AT_STATX_FORCE_SYNC)
      return files
    } catch {
      throw CrashHandlerError(.unusableDatabase, error.context, errno: error.errno)
    }
  }

  private static func pendingDirectory(
    of database: borrowing Directory, isTrial: Bool
  ) throws(CrashReportDatabaseError) -> Directory {
    do throws(CrashReportDatabaseError) {
      return try database.subdirectory(PendingDumpName.directory, create: !isTrial)
    } catch {
      guard isTrial, error.errno == ENOENT else { throw error }
      return try DatabaseDirectory.open(database.path, creating: false)
    }
  }

  /// - Parameter given: the path of the database as the caller passed it.
  private init(
    database: consuming Directory, given: String, directory: consuming Directory,
    lockedName: PendingDumpName, record: RunRecord
  ) {
    let place = database.path
    placeInMountPoint = place == given ? nil : place
    databasePath =
      SystemFile.path(of: database.descriptor) ?? Self.resolved(place)
    reportID = lockedName.reportID
    self.database = database
    self.directory = directory
    self.lockedName = lockedName
    owningRun = record
  }

  /// Keeps the files: `deinit` neither removes nor closes them, so they stay open until the process ends.
  mutating func keep() {
    isKept = true
    database.keep()
    directory.keep()
    fifo?.keep()
    record?.keep()
    dump?.keep()
  }

  deinit {
    guard !isKept else { return }
    var mapping = recordMapping
    mapping.remove()
    if fifo != nil { try? directory.remove(lockedName.with(role: .fifo).description) }
    if hasRecordName { try? directory.remove(lockedName.with(role: .runRecord).description) }
    if dump != nil { try? directory.remove(lockedName.description) }
  }

  // MARK: - Values for crash code

  var databaseStatus: FileStatus { database.status }
  var heldDatabase: HeldFile { Self.held(database) }
  var heldDirectory: HeldFile { Self.held(directory) }
  var heldFIFO: HeldFile { Self.held(fifo) }
  var heldRecord: HeldFile { Self.held(record) }
  var heldDump: HeldFile { Self.held(dump) }

  /// Returns the file with a duplicate of its descriptor, if the file system changes inode numbers.
  func paired(_ file: HeldFile) -> HeldFile {
    guard changesInodes, file.descriptor >= 0 else { return file }
    var file = file
    file.twin = pm_duplicate(file.descriptor)
    return file
  }

  /// The user to whom the files are given if this process is root and the database belongs to another user.
  var owner: DirectoryOwner? { directory.owner }
  /// The permission bits of the files: 0600, or 0660 if a group shares the database.
  var fileMode: UInt32 { directory.fileMode }

  private static func held(_ directory: borrowing Directory) -> HeldFile {
    HeldFile(directory.descriptor, identity: FileIdentity(directory.status))
  }

  private static func held(_ file: borrowing OpenFile?) -> HeldFile {
    switch file {
    case .some(let file):
      HeldFile(
        file.descriptor,
        identity: file.firstStatus.map(FileIdentity.init) ?? FileIdentity(of: file.descriptor))
    case .none: HeldFile()
    }
  }

  // MARK: - Steps

  /// Creates a random report ID with one system call; the standard library's generator makes one call for each 8
  /// bytes.
  private static func randomReportID() -> ReportID {
    var words = (UInt64(0), UInt64(0))
    let count = unsafe withUnsafeMutableBytes(of: &words) { buffer in
      unsafe buffer.baseAddress.map { unsafe pm_getrandom($0, buffer.count) }
    }
    return count == 16 ? ReportID(random: words) : ReportID()
  }

  /// Creates a file; throws if a file with that name exists.
  private func create(_ name: PendingDumpName) throws(CrashReportDatabaseError) -> OpenFile {
    let name = name.description
    guard let file = try directory.create(name) else {
      throw CrashReportDatabaseError(systemCall: "making \(directory.path)/\(name)", errno: EEXIST)
    }
    return file
  }

  private mutating func makeRunRecord() throws(CrashReportDatabaseError) {
    let name = lockedName.with(role: .runRecord)
    let file = try mapRunRecord(as: name)
    var run = owningRun
    run.isMapped = recordMapping.isMapped
    followsRun = run.course != nil && Self.write(run, to: file)
    if !followsRun {
      if run.course != nil {
        // If the whole record cannot be written, for example because of the limit on file sizes, only its owner's
        // identity is written, which takes a few hundred bytes.
        ftruncate(file.descriptor, 0)
        lseek(file.descriptor, 0, SEEK_SET)
      }
      run.course = nil
      guard Self.write(run, to: file) else {
        throw CrashReportDatabaseError(systemCall: "writing \(file.path)", errno: errno)
      }
    }
    record = consume file
  }

  /// Creates the run record and maps it; removes the mapping if a converter could not detect it.
  ///
  /// On a file system with its own block device, a converter can detect the mapping. On other file systems, such as
  /// overlayfs, this function closes the file and tries to detect the mapping, as a converter would.
  private mutating func mapRunRecord(
    as name: PendingDumpName
  ) throws(CrashReportDatabaseError) -> OpenFile {
    var file = try create(name)
    hasRecordName = true
    recordMapping = RecordMapping(of: file.descriptor)
    guard recordMapping.isMapped, file.firstStatus?.isOnBlockDevice != true else { return file }
    Self.close(file)
    let isShown = RecordLease.probe(name.description, in: directory.descriptor) == .refused
    file = try directory.open(name.description, forWriting: true)
    if !isShown { recordMapping.remove() }
    return file
  }

  private static func close(_ file: consuming OpenFile) {}

  /// Writes the record; returns false if the file is incomplete afterward.
  private static func write(_ record: RunRecord, to file: borrowing OpenFile) -> Bool {
    let contents = record.encoded() ?? []
    let written = unsafe contents.withUnsafeBytes { bytes in
      unsafe Glibc.write(file.descriptor, bytes.baseAddress, bytes.count)
    }
    return written == contents.count
  }

  /// Resolves a path with realpath(3); returns the path itself if realpath(3) fails.
  private static func resolved(_ path: String) -> String {
    guard let resolved = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }
}
