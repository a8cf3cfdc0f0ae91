internal import CSignalSafe

/// One mapped page of this process's run record.
///
/// The page is never read or written; its mapping shows other processes that this process is alive.
///
/// The mapping remains even when all descriptors are closed, until `remove` is called, or the process calls exec or
/// ends.
///
/// To the kernel, a process with this mapping counts as a writer of the file, so the kernel refuses a read lease on the
/// file. In this way, other processes can detect the mapping across PID namespaces, and without a lock. Children do not
/// inherit the mapping. On overlayfs, the mapping belongs to the file in the underlying file system and cannot be
/// detected, so `startHandler` first checks whether the mapping can be detected.
///
/// RUNS-DURING-CRASH. Source: mmap(2), "closing the file descriptor does not unmap the region";
/// fcntl(2), F_SETLEASE; Linux fs/locks.c, check_conflicting_open; fs/backing-file.c,
/// backing_file_mmap.
struct RecordMapping: Sendable {
  private var address: UInt = 0

  /// Creates a value without a mapping.
  @_noLocks
  init() {}

  /// Maps a file that is open for reading and writing; creates no mapping if the kernel refuses.
  @_noLocks
  init(of descriptor: Int32) {
    let result = pm_map_unreadable(descriptor)
    guard result > 0 else { return }
    address = UInt(bitPattern: result)
    // A child that outlives its parent must not keep the page mapped, because the parent would still count as alive.
    if pm_keep_from_children(address) != 0 { remove() }
  }

  var isMapped: Bool { @_noLocks get { address != 0 } }

  /// Unmaps the page, if it is mapped.
  @_noLocks
  mutating func remove() {
    guard address != 0 else { return }
    _ = pm_unmap_page(address)
    address = 0
  }
}
