internal import CSignalSafe
internal import PendingDumps

/// The device and the inode that identify a file.
///
/// RUNS-DURING-CRASH.
struct FileIdentity {
  let device: UInt64
  let inode: UInt64

  /// Reads the identity of an open file.
  ///
  /// If the file's status cannot be read, the result is an identity that no file has.
  @_noLocks
  init(of descriptor: Int32) {
    var status = pm_file_status()
    let isKnown = unsafe descriptor >= 0 && pm_fstat(descriptor, &status) == 0
    device = isKnown ? status.device : .max
    inode = isKnown ? status.inode : .max
  }

  /// True if the name does not exist in the directory, or belongs to another file.
  ///
  /// The result is false if the kernel does not show whether the name exists, for example because the process has given
  /// up its permissions for the directory.
  ///
  /// - Parameters:
  ///   - flags: flags of fstatat(2).
  ///   - anyInode: true to compare only the device.
  @_noLocks
  func isGone(
    from name: UnsafePointer<CChar>, in directory: Int32, flags: Int32 = 0, anyInode: Bool = false
  ) -> Bool {
    var status = pm_file_status()
    let result = unsafe pm_stat_at(directory, name, flags, &status)
    if result != 0 { return result == -Int(ENOENT) }
    return status.device != device || status.inode != inode && !anyInode
  }

  /// True if a descriptor refers to this file and, if `linked` is true, the file still has a name.
  ///
  /// - Parameter anyInode: true to compare only the device.
  @_noLocks
  func isOf(_ descriptor: Int32, linked: Bool, anyInode: Bool = false) -> Bool {
    var status = pm_file_status()
    guard descriptor >= 0, unsafe pm_fstat(descriptor, &status) == 0,
      status.device == device,
      status.inode == inode || anyInode
    else { return false }
    return !linked || status.links > 0
  }
}

extension FileIdentity {
  @_noLocks
  init(_ status: FileStatus) {
    device = status.device
    inode = status.inode
  }
}
