internal import CSignalSafe
internal import IntermediateDump

/// Constants for opening and creating the files of a dump.
///
/// RUNS-DURING-CRASH.
enum DumpFile {
  static var writeOnly: Int32 { @_noLocks get { O_WRONLY | O_CLOEXEC | O_NOFOLLOW } }
  /// The flags for a new file; the file is also open for reading, because a dump may be copied and a run record is
  /// mapped.
  fileprivate static var createNew: Int32 {
    @_noLocks get { O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW }
  }

  /// How many bytes are preallocated for a dump: enough for the crash, mappings, modules and about 20 threads.
  ///
  /// With 1 MiB, releasing the unused blocks on tmpfs added 115 microseconds to the handling of a crash.
  static var preallocated: Int64 { @_noLocks get { 256 << 10 } }
}

/// Makes sure, before the first byte is written, that the dump goes to its own file.
///
/// The program may have closed the handler's descriptors and opened other files under their numbers. The file or its
/// directory may have been removed. A forked child has only the descriptor of its parent's file. In all these cases,
/// missing files are opened or created again, and nothing is written to a descriptor that no longer refers to the
/// handler's file. This code also creates the next file after a crash that the process has survived.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump, and in a forked child after daemon(3).
extension Capture {
  /// Gives the writer a file to write to.
  ///
  /// - Returns: false if no dump can be written anywhere.
  @_noLocks
  func prepareDumpFile() -> Bool {
    prepareDirectories()
    let opensFiles = mayMake(CallBit.files)
    if session.files.isMissing { return opensFiles && (makeNewDumpFile() || makeNewDumpFile()) }
    let isOpen = isSame(session.files.dump, linked: true)
    // If the program chose the dump's path, the dump has no name in the pending directory, so it cannot go to another
    // file.
    guard session.request.isRenamed else { return isOpen }
    if isOpen && !isDumpTaken() { return true }
    guard opensFiles else { return isOpen }
    // If only the descriptor was closed, the file still exists and is opened again.
    let isBegunAgain = session.progress.timesBegunAgain > 0
    let descriptor = unsafe openPendingFile(session.names.locked, truncating: isBegunAgain)
    if descriptor >= 0, session.files.dump.identity.isOf(descriptor, linked: true) {
      use(descriptor)
      if isBegunAgain { _ = pm_preallocate(descriptor, DumpFile.preallocated) }
      return true
    }
    if descriptor >= 0 { _ = pm_close(descriptor) }
    // The file was removed, so another process may already have reported the end of this process under the old report
    // ID. So the new file gets another report ID.
    return makeNewDumpFile() || makeNewDumpFile() || isOpen
  }

  /// True if the file no longer has its name.
  ///
  /// Usually, a converter has then assumed that this process was dead, and has renamed the file. The converter will
  /// remove the file after creating a report, so this dump needs another file.
  private func isDumpTaken() -> Bool {
    guard mayMake(CallBit.files) else { return false }
    return unsafe session.files.dump.identity.isGone(
      from: session.names.locked, in: session.files.directory.descriptor,
      anyInode: installed.changesInodes)
  }

  /// Creates a locked file with a new report ID.
  ///
  /// The FIFO and the run record are created first, so that the locked file never exists without evidence that this
  /// process is alive.
  ///
  /// - Returns: false if the file could not be created; a converter later removes the FIFO and the run record.
  @_noLocks
  func makeNewDumpFile() -> Bool {
    unsafe pm_close_all(&session.files.unclosed)
    chooseReportID()
    session.names.areNew = true
    makeFIFO()
    makeRunRecord()
    guard create() else { return false }
    session.files.isMissing = false
    // Preallocation only ensures that the next dump can be written even if the disk is full, so a failure is ignored.
    _ = pm_preallocate(session.files.dump.descriptor, DumpFile.preallocated)
    return true
  }

  /// Releases preallocated blocks that a complete dump did not need, because the dump may stay on disk for a long
  /// time.
  @_noLocks
  func releaseDumpBlocks() {
    let size = writer.size
    // The descriptor is checked again, because the rename may have taken a long time. If the descriptor now refers to
    // a file of the program, that file must not be truncated.
    guard mayMake(CallBit.files), size < UInt64(DumpFile.preallocated),
      isStill(session.files.dump)
    else { return }
    _ = pm_truncate(session.files.dump.descriptor, size)
  }

  /// Removes an incomplete dump, its run record and its FIFO.
  ///
  /// The dump is emptied first, because a process that has changed its user may be unable to remove a name from the
  /// directory. An empty dump is never converted to a crash report. If the program chose the dump's path, the dump is
  /// only emptied.
  @_noLocks
  func discardDump() {
    let files = session.files
    if isSame(files.dump) { _ = pm_truncate(files.dump.descriptor, 0) }
    guard session.request.isRenamed else { return }
    let names = session.names
    _ = unsafe pm_unlink(files.directory.descriptor, names.locked)
    _ = unsafe pm_unlink(files.directory.descriptor, names.runRecord)
    _ = unsafe pm_unlink(files.directory.descriptor, names.fifo)
  }

  /// Removes `.locked` from the name of a complete dump.
  ///
  /// The suffix tells other processes not to convert the dump while its owner is alive; there is no other lock. If the
  /// rename fails, the dump keeps the suffix, but its end mark still shows that it is complete.
  ///
  /// - Returns: true if `.locked` was removed from the name of the dump, or of the copy that replaces a removed dump.
  @_noLocks
  func finishDump() -> Bool {
    let result = takeLockAway()
    guard result == -Int(ENOENT), copyDumpToNew() else { return result == 0 }
    return takeLockAway() == 0
  }

  /// Copies the dump to a new file, if its file was removed while the dump was written.
  ///
  /// A file that was only renamed is not copied, because the converter that renamed the file reads it again before
  /// removing it.
  private func copyDumpToNew() -> Bool {
    guard mayMake(CallBit.files | CallBit.proc) else { return false }
    let old = session.files.dump
    guard old.isThere(), !old.isThere(linked: true), makeNewDumpFile() else { return false }
    let isWhole = copyDump(from: old.descriptor)
    close(old)
    return isWhole
  }

  private func copyDump(from old: Int32) -> Bool {
    let place = unsafe session.scratch.address
    var offset: Int64 = 0
    while true {
      let count = unsafe pm_pread(old, place, session.scratch.size, offset)
      if count == -Int(EINTR) { continue }
      guard count > 0 else { return count == 0 }
      var written = 0
      while written < count {
        let result = unsafe pm_write(
          session.files.dump.descriptor, place + written, count &- written)
        guard result > 0 || result == -Int(EINTR) else { return false }
        if result > 0 { written &+= result }
      }
      offset &+= Int64(truncatingIfNeeded: count)
    }
  }

  /// Closes the file, unless its descriptor now refers to another file.
  ///
  /// If `forgoing` excludes checking files, the file stays open, because its descriptor cannot be checked.
  @_noLocks
  func closeDumpFile() {
    if mayMake(CallBit.files) { close(session.files.dump) }
    session.files.dump.descriptor = -1
  }

  /// Opens a file in the pending directory for writing; the result is negative if the file cannot be opened.
  ///
  /// - Parameter truncating: true to drop the file's contents.
  @_noLocks
  func openPendingFile(_ name: UnsafePointer<CChar>, truncating: Bool = false) -> Int32 {
    guard mayMake(CallBit.files) else { return -1 }
    let flags = truncating ? DumpFile.writeOnly | O_TRUNC : DumpFile.writeOnly
    return unsafe pm_create(session.files.directory.descriptor, name, flags)
  }

  /// Creates the run record; keeps the record open if the process will write there how it ends.
  private func makeRunRecord() {
    var record = createRunRecord()
    if record.isWhole && session.runRecord.isFollowed {
      session.runRecord.file = hold(record.descriptor)
      return
    }
    if record.descriptor >= 0 { _ = pm_close(record.descriptor) }
    guard session.runRecord.isFollowed else { return }
    session.runRecord.isFollowed = false
    guard record.descriptor >= 0 else { return }
    // If there is no room for the whole record, only the owner's identity is written, which takes a few hundred
    // bytes.
    _ = unsafe pm_unlink(
      session.files.directory.descriptor, session.names.runRecord)
    record = createRunRecord()
    if record.descriptor >= 0 { _ = pm_close(record.descriptor) }
  }

  /// Creates, maps and writes a run record; the descriptor is negative if the record cannot be created.
  private func createRunRecord() -> (descriptor: Int32, isWhole: Bool) {
    let record = unsafe create(session.names.runRecord)
    guard record >= 0 else { return (record, false) }
    session.runRecord.mapping.remove()
    session.runRecord.mapping =
      installed.mapsRecords ? RecordMapping(of: record) : RecordMapping()
    let isMapped = session.runRecord.mapping.isMapped
    return (record, writeRunRecord(to: record, isMapped: isMapped))
  }

  /// Creates a new FIFO, whose read end replaces that of the previous dump's FIFO.
  private func makeFIFO() {
    close(session.files.fifo)
    let name = unsafe session.names.fifo
    _ = unsafe pm_mkfifo(session.files.directory.descriptor, name)
    session.files.fifo = unsafe hold(
      pm_openat(
        session.files.directory.descriptor, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW))
    give(session.files.fifo.descriptor)
  }

  /// Opens directories again if their descriptors were closed or reused; creates the database's directory and the
  /// pending directory again if they were removed.
  private func prepareDirectories() {
    guard mayMake(CallBit.files) else { return }
    if mayMake(CallBit.proc), !isSame(session.files.proc) {
      unsafe session.files.proc.descriptor = openDirectory(ProcReader.characters("/proc"))
    }
    if isSame(session.files.directory, linked: true) {
      return
    }
    _ = unsafe pm_mkdir(AT_FDCWD, installed.paths.database)
    _ = unsafe pm_mkdir(AT_FDCWD, installed.paths.directory)
    session.files.directory = unsafe hold(
      openDirectory(installed.paths.directory))
  }

  @_noLocks
  func openDirectory(_ path: UnsafePointer<CChar>) -> Int32 {
    unsafe pm_create(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
  }

  /// Marks the dump as finished by renaming it to the name without `.locked`; returns 0 or -errno.
  private func takeLockAway() -> Int {
    unsafe pm_rename(
      session.files.directory.descriptor, session.names.locked, session.names.finished)
  }

  /// Creates a locked file with the name in `session.names`, and makes it the file of the dump.
  private func create() -> Bool {
    let descriptor = unsafe create(session.names.locked)
    guard descriptor >= 0 else {
      // If the directory could not be opened, its descriptor is a negative errno, which is the reason for the
      // failure.
      let directory = session.files.directory.descriptor
      session.result.failure = 0 &- (directory < 0 ? directory : descriptor)
      return false
    }
    use(descriptor)
    return true
  }

  /// Creates a file that must not exist yet; the result is negative if the file cannot be created.
  private func create(_ name: UnsafePointer<CChar>) -> Int32 {
    let descriptor = unsafe pm_create(
      session.files.directory.descriptor, name, DumpFile.createNew)
    give(descriptor)
    return descriptor
  }

  /// Makes the database's owner the owner of a file, because that user could not read the file otherwise.
  ///
  /// The kernel may refuse the change if the process already runs as that user, who can then read the file anyway.
  private func give(_ descriptor: Int32) {
    let owner = installed.filesOwner
    if descriptor >= 0, owner.0 != 0 { _ = pm_fchown(descriptor, owner.0, owner.1) }
  }

  private func use(_ descriptor: Int32) {
    session.files.dump = hold(descriptor)
    writer.redirect(to: descriptor)
  }
}
