internal import CSignalSafe

/// One page of this process's own run record, mapped and never touched, as a witness that the
/// process lives: neither close_range(2) nor a loop of close(2) takes it away, only the end of the
/// process and exec do.
///
/// The mapping keeps the file open for writing in the kernel's count of writers, so that a read
/// lease on it is refused; across PID namespaces, and without a lock. Children do not inherit it. On
/// overlayfs the mapping belongs to the file below and does not show: so `startHandler` asks first.
///
/// RUNS-DURING-CRASH. Source: mmap(2), "closing the file descriptor does not unmap the region";
/// fcntl(2), F_SETLEASE; Linux fs/locks.c, check_conflicting_open; fs/backing-file.c,
/// backing_file_mmap.
struct RecordMapping: Sendable {
  private var address: UInt = 0

  /// None.
  @_noLocks
  init() {}

  /// Maps a file that is open for reading and writing; none if the kernel refuses.
  @_noLocks
  init(of descriptor: Int32) {
    let result = pm_map_unreadable(descriptor)
    guard result > 0 else { return }
    address = UInt(bitPattern: result)
    // A child that outlives its parent must not keep it mapped.
    if pm_keep_from_children(address) != 0 { remove() }
  }

  var isMapped: Bool { @_noLocks get { address != 0 } }

  /// Unmaps it; nothing if there is none.
  @_noLocks
  mutating func remove() {
    guard address != 0 else { return }
    _ = pm_unmap_page(address)
    address = 0
  }
}
