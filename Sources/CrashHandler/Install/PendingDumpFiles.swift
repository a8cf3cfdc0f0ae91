internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The files that a live handler has in the pending directory: the locked dump, its run record and its
/// FIFO.
///
/// Ordinary code. Dropping it without `keep()` removes them again.
struct PendingDumpFiles: ~Copyable {
  let reportID: ReportID
  let lockedName: PendingDumpName
  /// The pending directory, for names relative to it.
  let directoryDescriptor: Int32
  /// The locked dump, open for writing.
  private(set) var descriptor: Int32 = -1
  /// The FIFO's read end; -1 where the file system has none.
  private(set) var fifoDescriptor: Int32 = -1
  /// The run record, open for writing notes into it, and whether it has room for them.
  private(set) var recordDescriptor: Int32 = -1
  /// The mapping that shows others that this process lives; none if it would not show.
  private(set) var recordMapping = RecordMapping()
  private(set) var followsRun = false
  /// The record of this process, as it is in the run record.
  let owningRun: RunRecord
  /// The database, absolute and without links.
  let databasePath: String
  /// The files' owner, if this process is root and the database another user's.
  let owner: DirectoryOwner?

  /// The database's path where it is a directory in the mount point that was given.
  private(set) var placeInMountPoint: String?
  /// The mode of the files, which a group may share.
  let fileMode: UInt32

  private let directory: String
  private var hasFIFO = false
  /// Other files made so far: first the run record, then the locked dump.
  private var createdCount = 0
  private var isKept = false

  /// Makes the directories, then FIFO, run record and locked file, in this order: a locked file never
  /// lies there without what tells whether its owner lives.
  ///
  /// - Parameters:
  ///   - database: the database directory.
  ///   - identifier: a valid identifier.
  ///   - record: of this process; its course is nil where nothing is to be said of the run.
  ///   - host: of this process.
  /// - Throws: `CrashHandlerError.unusableDatabase`, with the path, the reason, and what to do.
  static func make(
    database: String, identifier: String, record: RunRecord, host: HostIdentity
  ) throws(CrashHandlerError) -> PendingDumpFiles {
    // Under `ulimit -f 0` it throws the error of the write, in place of the program's end.
    let writing = OwnWriting(raisesLimit: false)
    defer { writing.finish(hasFailed: true) }
    let reportID = ReportID()
    guard let name = PendingDumpName(identifier: identifier, reportID: reportID, role: .locked)
    else { throw CrashHandlerError(.invalidIdentifier, "'\(identifier)'") }
    let (place, database, directory, directoryDescriptor, owner) = try openDirectories(database)
    var files = PendingDumpFiles(
      lockedName: name, database: absolutePath(database), directory: directory,
      directoryDescriptor: directoryDescriptor, owner: owner, owningRun: record)
    files.placeInMountPoint = place
    PendingDumpBound(
      directoryDescriptor: directoryDescriptor, identifier: identifier, host: host
    ).apply(wholly: PendingDumpBound.isDue(for: reportID))
    files.makeFIFO(name.with(role: .fifo).description)
    try files.writeRunRecord(record, as: name.with(role: .runRecord).description)
    files.descriptor = try files.create(name.description)
    // Blocks of the file are held now, so that the dump can be written when the disk is full. A
    // file system that cannot hold blocks (EOPNOTSUPP) only loses this.
    _ = pm_preallocate(files.descriptor, DumpFile.preallocated)
    return files
  }

  private init(
    lockedName: PendingDumpName, database: String, directory: String, directoryDescriptor: Int32,
    owner: DirectoryOwner?, owningRun: RunRecord
  ) {
    self.owner = owner
    self.owningRun = owningRun
    fileMode = DatabaseDirectory.fileMode(in: directoryDescriptor)
    databasePath = database
    reportID = lockedName.reportID
    self.lockedName = lockedName
    self.directory = directory
    self.directoryDescriptor = directoryDescriptor
  }

  /// Leaves the files where they are, and open, for the rest of the process's life.
  mutating func keep() {
    isKept = true
  }

  deinit {
    guard !isKept else { return }
    var mapping = recordMapping
    mapping.remove()
    if hasFIFO { remove(.fifo) }
    if createdCount > 0 { remove(.runRecord) }
    if createdCount > 1 { remove(.locked) }
    if fifoDescriptor >= 0 { close(fifoDescriptor) }
    if recordDescriptor >= 0 { close(recordDescriptor) }
    if descriptor >= 0 { close(descriptor) }
    close(directoryDescriptor)
  }

  private func remove(_ role: PendingDumpName.Role) {
    unsafe unlinkat(directoryDescriptor, lockedName.with(role: role).description, 0)
  }

  // MARK: - Steps

  /// Holds the FIFO's read end open, close-on-exec: while somebody has it open, the owner lives.
  ///
  /// A witness, and no condition: SMB and FAT know no FIFOs, and may leave another file in its place.
  private mutating func makeFIFO(_ name: String) {
    if unsafe mkfifoat(directoryDescriptor, name, 0o600) == 0 {
      fifoDescriptor = unsafe openat(
        directoryDescriptor, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW)
    }
    var status = stat()
    hasFIFO = unsafe fstat(fifoDescriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
    guard hasFIFO else {
      if fifoDescriptor >= 0 { close(fifoDescriptor) }
      fifoDescriptor = -1
      return remove(.fifo)
    }
    _ = fchmod(fifoDescriptor, fileMode)
    owner?.give(fifoDescriptor)
  }

  private mutating func writeRunRecord(
    _ record: RunRecord, as name: String
  ) throws(CrashHandlerError) {
    var record = record
    record.isMapped = try mapRunRecord(as: name)
    if record.course != nil {
      followsRun = Self.write(record, to: recordDescriptor)
      if followsRun { return }
      // Too large for a limit on the size of files; who the owner is fits into a few hundred bytes.
      ftruncate(recordDescriptor, 0)
      lseek(recordDescriptor, 0, SEEK_SET)
    }
    record.course = nil
    guard Self.write(record, to: recordDescriptor) else {
      throw Self.error("write a file in", directory)
    }
  }

  /// Makes the file, maps it, and asks the kernel whether that shows, as a converter asks later:
  /// without any other open end for writing.
  ///
  /// - Returns: whether a converter can tell by the mapping that this process lives.
  private mutating func mapRunRecord(as name: String) throws(CrashHandlerError) -> Bool {
    recordDescriptor = try create(name)
    recordMapping = RecordMapping(of: recordDescriptor)
    guard recordMapping.isMapped else { return false }
    close(recordDescriptor)
    let isShown = RecordLease.probe(name, in: directoryDescriptor) == .refused
    if !isShown { recordMapping.remove() }
    recordDescriptor = unsafe openat(
      directoryDescriptor, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW)
    guard recordDescriptor >= 0 else { throw Self.error("open a file in", directory) }
    return isShown
  }

  /// False if the file did not become whole.
  private static func write(_ record: RunRecord, to descriptor: Int32) -> Bool {
    let contents = record.encoded() ?? []
    let written = unsafe contents.withUnsafeBytes { bytes in
      unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    }
    return written == contents.count
  }

  /// Creates a file that must not exist.
  private mutating func create(_ name: String) throws(CrashHandlerError) -> Int32 {
    // For reading too: a run record is mapped, and a dump may have to be copied.
    let descriptor = unsafe openat(
      directoryDescriptor, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.error("make a file in", directory) }
    // Whatever the umask is: a converter has to open it.
    _ = fchmod(descriptor, fileMode)
    owner?.give(descriptor)
    createdCount += 1
    return descriptor
  }

  /// Opens database and pending directory as a converter opens them; makes what is missing.
  private static func openDirectories(
    _ path: String
  ) throws(CrashHandlerError) -> (String?, String, String, Int32, DirectoryOwner?) {
    do throws(DatabaseDirectory.Failure) {
      let given = try DatabaseDirectory.absolute(path)
      let database = DatabaseDirectory.place(given)
      let root = try DatabaseDirectory.open(database, creating: true)
      defer { close(root) }
      let directory = database + "/" + PendingDumpName.directory
      let pending = try DatabaseDirectory.open(
        PendingDumpName.directory, in: root, path: directory, creating: true)
      return (
        database == given ? nil : database, database, directory, pending, DirectoryOwner(of: root)
      )
    } catch {
      throw CrashHandlerError(
        .unusableDatabase, error.context + advice(error.errno), errno: error.errno)
    }
  }

  /// As realpath(3); the path itself where that fails.
  private static func absolutePath(_ path: String) -> String {
    guard let resolved = unsafe realpath(path, nil) else { return path }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  private static func error(_ action: String, _ path: String) -> CrashHandlerError {
    let number = errno
    return CrashHandlerError(
      .unusableDatabase, "cannot \(action) '\(path)'\(advice(number))", errno: number)
  }

  private static func advice(_ number: Int32) -> String {
    switch number {
    case EACCES, EPERM: "; give this user write permission, or name another directory"
    case EROFS: "; name a directory on a disk that is writable, such as a mounted volume"
    case ENOENT: "; make its parent directory first"
    case ENOTDIR: "; a part of the path is a file"
    case ENOSPC, EDQUOT: "; free some space"
    case EFBIG: "; raise the limit on the size of files (ulimit -f)"
    default: ""
    }
  }
}
