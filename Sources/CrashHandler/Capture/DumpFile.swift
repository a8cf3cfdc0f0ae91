internal import CSignalSafe
internal import IntermediateDump

/// Makes sure, before the first byte, that the dump goes into a file of ours.
///
/// The program may have closed our descriptors and opened others under their numbers, the file or
/// its folder may have been removed, and a forked child has only its parent's file. Whatever is
/// gone is opened or made again; descriptors that are not ours any more are never written to.
/// Makes also the next file of a process that lives on.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct DumpFile {
  // From <fcntl.h>, which differs between the two architectures only in O_DIRECTORY and O_NOFOLLOW.
  static var writeOnly: Int32 { @_noLocks get { 1 | 0x80000 | noFollow } }  // O_CLOEXEC
  // O_RDWR: a dump may have to be copied, and a run record is mapped.
  private static var createNew: Int32 {
    @_noLocks get { 2 | 0x80000 | noFollow | 0o100 | 0o200 }  // O_CLOEXEC, O_CREAT, O_EXCL
  }
  private static var readWithoutWaiting: Int32 {  // O_CLOEXEC | O_NONBLOCK
    @_noLocks get { 0x80000 | 0o4000 | noFollow }
  }
  private static var readFolder: Int32 { @_noLocks get { 0x80000 | ProcFile.directoryFlag } }
  private static var noFollow: Int32 {
    @_noLocks get {
      #if arch(arm64)
        0o100000
      #else
        0o400000
      #endif
    }
  }
  private static var workingDirectory: Int32 { @_noLocks get { -100 } }

  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// Leaves the writer with a file to write to.
  ///
  /// - Returns: false if there is no place for a dump at all.
  @_noLocks
  func prepare() -> Bool {
    prepareFolders()
    let opensFiles = unsafe state.pointee.makes(CallBit.files)
    if unsafe state.pointee.needsFile { return opensFiles && (makeNew() || makeNew()) }
    let isOpen = unsafe state.pointee.isSame(
      state.pointee.fileIdentity, state.pointee.fileDescriptor, linked: true)
    if isOpen && !isTaken() { return true }
    guard opensFiles else { return isOpen }
    // Closed, but still there: the same file again.
    let isBegunAgain = unsafe state.pointee.timesBegunAgain > 0
    let descriptor = unsafe openAgain(state.pointee.lockedName, truncating: isBegunAgain)
    if descriptor >= 0, unsafe state.pointee.fileIdentity.isOf(descriptor, linked: true) {
      use(descriptor)
      if isBegunAgain { _ = pm_preallocate(descriptor, 1 << 20) }
      return true
    }
    if descriptor >= 0 { _ = pm_close(descriptor) }
    // Taken away: whoever did it may have reported that this run has ended, under the old ID.
    return makeNew() || makeNew() || isOpen
  }

  /// True if the file is known not to lie under its name any more: a converter that took this
  /// process for dead has renamed it, and removes it once it has a report.
  @_noLocks
  private func isTaken() -> Bool {
    guard unsafe state.pointee.makes(CallBit.fileChecks) else { return false }
    return unsafe state.pointee.fileIdentity.isGone(
      from: state.pointee.lockedName, in: state.pointee.folderDescriptor)
  }

  /// Makes a locked file with a report ID of its own and uses it; FIFO and run record first, so
  /// that it never lies there without what tells whether its owner lives.
  ///
  /// - Returns: false if there is no file; what lies beside it is then removed by a converter.
  @_noLocks
  func makeNew() -> Bool {
    unsafe ReportName(state).choose()
    unsafe state.pointee.hasNewReportID = true
    makeFIFO()
    makeRunRecord()
    guard create() else { return false }
    unsafe state.pointee.needsFile = false
    // Only makes sure that the next crash can be written too.
    _ = unsafe pm_preallocate(state.pointee.fileDescriptor, 1 << 20)
    return true
  }

  /// Takes `.locked` away from the name of a dump that is complete.
  ///
  /// The suffix is the whole lock; a dump that keeps it because this failed is complete by its end
  /// mark.
  ///
  /// - Returns: false if it keeps it, or lies under a converter's name.
  @_noLocks
  func finish() -> Bool {
    let result = takeLockAway()
    guard result == -2, copyToNew() else { return result == 0 }  // ENOENT
    return takeLockAway() == 0
  }

  /// Copies the dump into a new file, if its own was removed while it was written.
  ///
  /// One that was only renamed is left: a converter that has it looks again before it removes it.
  @_noLocks
  private func copyToNew() -> Bool {
    guard
      unsafe state.pointee.makes(CallBit.files) && state.pointee.makes(CallBit.fileChecks)
        && state.pointee.makes(CallBit.controlGroup)
    else { return false }
    let old = unsafe state.pointee.fileDescriptor
    let identity = unsafe state.pointee.fileIdentity
    guard identity.isOf(old, linked: false), !identity.isOf(old, linked: true), makeNew() else {
      return false
    }
    let isWhole = copy(from: old)
    _ = pm_close(old)
    return isWhole
  }

  @_noLocks
  private func copy(from old: Int32) -> Bool {
    let place = unsafe state.pointee.scratch
    var offset: Int64 = 0
    while true {
      let count = unsafe pm_pread(old, place, state.pointee.scratchSize, offset)
      guard count > 0 else { return count == 0 }
      var written = 0
      while written < count {
        let result = unsafe pm_write(
          state.pointee.fileDescriptor, place + written, count &- written)
        guard result > 0 else { return false }
        written &+= result
      }
      offset &+= Int64(truncatingIfNeeded: count)
    }
  }

  /// Closes the file, unless its number is somebody else's by now.
  @_noLocks
  func close() {
    if unsafe state.pointee.makes(CallBit.files)
      && state.pointee.isSame(state.pointee.fileIdentity, state.pointee.fileDescriptor)
    {
      _ = unsafe pm_close(state.pointee.fileDescriptor)
    }
    unsafe state.pointee.fileDescriptor = -1
  }

  /// Opens a file of the pending folder for writing; negative if it is not there.
  ///
  /// - Parameter truncating: whether what it holds is dropped.
  @_noLocks
  func openAgain(_ name: UnsafePointer<CChar>, truncating: Bool = false) -> Int32 {
    guard unsafe state.pointee.makes(CallBit.files) else { return -1 }
    let flags = truncating ? DumpFile.writeOnly | 0o1000 : DumpFile.writeOnly  // O_TRUNC
    return unsafe open(state.pointee.folderDescriptor, name, flags)
  }

  /// Makes the run record, and keeps it open where the run is followed.
  @_noLocks
  private func makeRunRecord() {
    var record = createRunRecord()
    if unsafe record.isWhole && state.pointee.followsRun {
      unsafe state.pointee.recordDescriptor = record.descriptor
      unsafe state.pointee.recordIdentity = FileIdentity(of: record.descriptor)
      return
    }
    if record.descriptor >= 0 { _ = pm_close(record.descriptor) }
    guard unsafe state.pointee.followsRun else { return }
    unsafe state.pointee.followsRun = false
    guard record.descriptor >= 0 else { return }
    // Too large for the disk; who the owner is fits into a few hundred bytes.
    _ = unsafe pm_unlink(state.pointee.folderDescriptor, state.pointee.runRecordName)
    record = createRunRecord()
    if record.descriptor >= 0 { _ = pm_close(record.descriptor) }
  }

  /// Creates, maps and writes one; the descriptor is negative if it cannot be made.
  @_noLocks
  private func createRunRecord() -> (descriptor: Int32, isWhole: Bool) {
    let record = unsafe create(state.pointee.runRecordName)
    guard record >= 0 else { return (record, false) }
    unsafe state.pointee.recordMapping.remove()
    unsafe state.pointee.recordMapping =
      state.pointee.mapsRecords ? RecordMapping(of: record) : RecordMapping()
    let isMapped = unsafe state.pointee.recordMapping.isMapped
    return (record, unsafe RunRecordFile(state).write(to: record, isMapped: isMapped))
  }

  /// Puts the read end of a new FIFO in the place of the old one, whose file is finished.
  @_noLocks
  private func makeFIFO() {
    if unsafe state.pointee.isSame(state.pointee.fifoIdentity, state.pointee.fifoDescriptor) {
      _ = unsafe pm_close(state.pointee.fifoDescriptor)
    }
    let name = unsafe state.pointee.fifoName
    _ = unsafe pm_mkfifo(state.pointee.folderDescriptor, name)
    unsafe state.pointee.fifoDescriptor = Int32(
      truncatingIfNeeded: pm_openat(
        state.pointee.folderDescriptor, name, DumpFile.readWithoutWaiting))
    unsafe state.pointee.fifoIdentity = FileIdentity(of: state.pointee.fifoDescriptor)
    unsafe give(state.pointee.fifoDescriptor)
  }

  /// Opens the folders again whose descriptors are not ours any more; a removed pending folder is
  /// made again.
  @_noLocks
  private func prepareFolders() {
    guard unsafe state.pointee.makes(CallBit.files) else { return }
    if unsafe !state.pointee.isSame(state.pointee.procIdentity, state.pointee.procDescriptor) {
      let name: StaticString = "/proc"
      let path = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
      unsafe state.pointee.procDescriptor = openFolder(path)
    }
    if unsafe state.pointee.isSame(
      state.pointee.folderIdentity, state.pointee.folderDescriptor, linked: true)
    {
      return
    }
    if unsafe state.pointee.makes(CallBit.folders) {
      let workingDirectory = DumpFile.workingDirectory
      _ = unsafe pm_mkdir(workingDirectory, state.pointee.databasePath)
      _ = unsafe pm_mkdir(workingDirectory, state.pointee.folderPath)
    }
    unsafe state.pointee.folderDescriptor = openFolder(state.pointee.folderPath)
    unsafe state.pointee.folderIdentity = FileIdentity(of: state.pointee.folderDescriptor)
  }

  @_noLocks
  func openFolder(_ path: UnsafePointer<CChar>) -> Int32 {
    unsafe open(DumpFile.workingDirectory, path, DumpFile.readFolder)
  }

  /// Renames the dump, which takes its lock away; returns 0 or -errno.
  @_noLocks
  private func takeLockAway() -> Int {
    var result = -4
    var attempts = 0
    while result == -4, attempts < DumpFile.interruptions {  // EINTR
      result = unsafe pm_rename(
        state.pointee.folderDescriptor, state.pointee.lockedName, state.pointee.finishedName)
      attempts &+= 1
    }
    return result
  }

  /// How often a call of a slow file system is made again that a signal has interrupted: a tick of
  /// the handler's own timer, most likely.
  private static var interruptions: Int { @_noLocks get { 64 } }

  @_noLocks
  private func open(
    _ folder: Int32, _ path: UnsafePointer<CChar>, _ flags: Int32
  ) -> Int32 {
    var result = -4
    var attempts = 0
    while result == -4, attempts < DumpFile.interruptions {  // EINTR
      result = unsafe pm_create(folder, path, flags)
      attempts &+= 1
    }
    return Int32(truncatingIfNeeded: result)
  }

  /// Makes the locked file under the name that it has now, and uses it.
  @_noLocks
  private func create() -> Bool {
    let descriptor = unsafe create(state.pointee.lockedName)
    guard descriptor >= 0 else {
      // A folder that cannot be opened is the cause; its "descriptor" is the errno.
      let folder = unsafe state.pointee.folderDescriptor
      unsafe state.pointee.outcome.failure = 0 &- (folder < 0 ? folder : descriptor)
      return false
    }
    use(descriptor)
    return true
  }

  /// Makes a file that must not exist; negative if it cannot be made.
  @_noLocks
  private func create(_ name: UnsafePointer<CChar>) -> Int32 {
    let descriptor = unsafe open(state.pointee.folderDescriptor, name, DumpFile.createNew)
    give(descriptor)
    return descriptor
  }

  /// Gives a file to the database's owner, who could not read it otherwise.
  ///
  /// Refused once the process has become that user.
  @_noLocks
  private func give(_ descriptor: Int32) {
    let owner = unsafe state.pointee.filesOwner
    if descriptor >= 0, owner.0 != 0 { _ = pm_fchown(descriptor, owner.0, owner.1) }
  }

  @_noLocks
  private func use(_ descriptor: Int32) {
    unsafe state.pointee.fileDescriptor = descriptor
    unsafe state.pointee.fileIdentity = FileIdentity(of: descriptor)
    unsafe state.pointee.writer.redirect(to: descriptor)
  }
}

/// A file by device and inode.
///
/// RUNS-DURING-CRASH.
struct FileIdentity {
  private let device: UInt64
  private let inode: UInt64

  /// The identity of an open file; one that no file has if it cannot be had.
  @_noLocks
  init(of descriptor: Int32) {
    var status = pm_file_status()
    if unsafe descriptor >= 0 && pm_fstat(descriptor, &status) == 0 {
      device = status.device
      inode = status.inode
    } else {
      device = UInt64.max
      inode = UInt64.max
    }
  }

  /// True if a name in a folder stands for nothing, or for another file; false where the kernel does
  /// not tell, as to a process that has given up its rights to the folder.
  @_noLocks
  func isGone(from name: UnsafePointer<CChar>, in folder: Int32) -> Bool {
    var status = pm_file_status()
    let result = unsafe pm_stat_at(folder, name, &status)
    if result != 0 { return result == -2 }  // ENOENT
    return status.device != device || status.inode != inode
  }

  /// True if a descriptor is that of this file and, where `linked`, it still has a name.
  @_noLocks
  func isOf(_ descriptor: Int32, linked: Bool) -> Bool {
    var status = pm_file_status()
    guard descriptor >= 0, unsafe pm_fstat(descriptor, &status) == 0,
      status.device == device,
      status.inode == inode
    else { return false }
    return !linked || status.links > 0
  }
}

extension HandlerState {
  /// True if a descriptor is still that of a file, or is not to be checked.
  @_noLocks
  func isSame(_ identity: FileIdentity, _ descriptor: Int32, linked: Bool = false) -> Bool {
    makes(CallBit.fileChecks) ? identity.isOf(descriptor, linked: linked) : descriptor >= 0
  }
}
