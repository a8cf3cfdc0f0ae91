internal import CSignalSafe
internal import IntermediateDump

/// Makes sure, before the first byte, that the dump goes into a file of ours.
///
/// The program may have closed our descriptors and opened others under their numbers, the file or
/// its folder may have been removed, and a forked child has only its parent's file. Whatever is
/// gone is opened or made again; descriptors that are not ours any more are never written to.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct DumpFile {
  // From <fcntl.h>, which differs between the two architectures only in O_DIRECTORY and O_NOFOLLOW.
  private static var writeOnly: Int32 { @_noLocks get { 1 | 0x80000 | noFollow } }  // O_CLOEXEC
  private static var createNew: Int32 { @_noLocks get { writeOnly | 0o100 | 0o200 } }
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
    if unsafe state.pointee.isForkedChild {
      return create(anew: true)
    }
    if unsafe state.pointee.fileIdentity.isOf(state.pointee.fileDescriptor, linked: true) {
      return true
    }
    // Closed, but still there: the same file again. Removed: one of the same name.
    let descriptor = unsafe Int32(
      truncatingIfNeeded: pm_openat(
        state.pointee.folderDescriptor, state.pointee.lockedName, DumpFile.writeOnly))
    if descriptor >= 0, unsafe state.pointee.fileIdentity.isOf(descriptor, linked: true) {
      use(descriptor)
      return true
    }
    if descriptor >= 0 { _ = pm_close(descriptor) }
    return create(anew: false) || create(anew: true)
  }

  /// Opens the folders again whose descriptors are not ours any more; a removed pending folder is
  /// made again.
  @_noLocks
  private func prepareFolders() {
    if unsafe !state.pointee.procIdentity.isOf(state.pointee.procDescriptor, linked: false) {
      let name: StaticString = "/proc"
      let path = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
      unsafe state.pointee.procDescriptor = openFolder(path)
    }
    if unsafe state.pointee.folderIdentity.isOf(state.pointee.folderDescriptor, linked: true) {
      return
    }
    let workingDirectory = DumpFile.workingDirectory
    _ = unsafe pm_mkdir(workingDirectory, state.pointee.databasePath)
    _ = unsafe pm_mkdir(workingDirectory, state.pointee.folderPath)
    unsafe state.pointee.folderDescriptor = openFolder(state.pointee.folderPath)
  }

  @_noLocks
  private func openFolder(_ path: UnsafePointer<CChar>) -> Int32 {
    unsafe Int32(
      truncatingIfNeeded: pm_openat(DumpFile.workingDirectory, path, DumpFile.readFolder))
  }

  /// Makes a new file and uses it.
  ///
  /// - Parameter anew: with a report ID of its own, instead of the one chosen at install.
  @_noLocks
  private func create(anew: Bool) -> Bool {
    if anew { unsafe ReportName(state).choose() }
    let descriptor = unsafe Int32(
      truncatingIfNeeded: pm_create(
        state.pointee.folderDescriptor, state.pointee.lockedName, DumpFile.createNew))
    guard descriptor >= 0 else {
      // A folder that cannot be opened is the cause; its "descriptor" is the errno.
      let folder = unsafe state.pointee.folderDescriptor
      unsafe state.pointee.outcome.failure = 0 &- (folder < 0 ? folder : descriptor)
      return false
    }
    use(descriptor)
    return true
  }

  @_noLocks
  private func use(_ descriptor: Int32) {
    unsafe state.pointee.fileDescriptor = descriptor
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
