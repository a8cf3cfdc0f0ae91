internal import CSignalSafe

/// Reads pages that are neither in memory nor in swap, unless another process or thread would have to provide them.
///
/// The pages that are read here were never touched, or belong to files that the kernel itself reads. They are read
/// through `/proc/thread-self/mem`, where the kernel returns an error instead of waiting for userfaultfd. But the
/// kernel could still wait for a file server, so pages of files on FUSE and 9P are not read. When the kernel reads
/// through this file, it also ignores page permissions, so this code checks the permissions of the mapping.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump. Source: Linux mm/memory.c, __access_remote_vm;
/// fs/userfaultfd.c, handle_userfault; proc_pid_mountinfo(5).
@safe
struct AbsentPages {
  let resident: ResidentPages
  private let mappings: MappingTable
  private let proc: ProcReader

  @_noLocks
  init(resident: ResidentPages, mappings: MappingTable, proc: ProcReader) {
    self.resident = resident
    self.mappings = mappings
    self.proc = proc
  }

  /// Returns a copy that reads the pages' states again, as `ResidentPages.again` does with the same `attempt`.
  @_noLocks
  func again(_ attempt: UInt64) -> AbsentPages {
    AbsentPages(resident: resident.again(attempt), mappings: mappings, proc: proc)
  }

  /// Copies up to `count` bytes from one mapping; returns the number of bytes that could be read.
  @_noLocks
  func copy(_ address: UInt64, to place: UnsafeMutableRawPointer, count: Int) -> Int {
    guard let mapping = mappings.mapping(around: address), mapping.has(Mapping.isReadable),
      !isServed(mapping)
    else { return 0 }
    let descriptor = proc.open(named: "thread-self/mem")
    guard descriptor >= 0 else { return 0 }
    let rest = Int(truncatingIfNeeded: mapping.end &- address)
    let result = unsafe pm_pread(
      descriptor, place, count < rest ? count : rest, Int64(bitPattern: address))
    _ = pm_close(descriptor)
    return result > 0 ? result : 0
  }

  /// True if a mapping's file may be on a file system that another process serves.
  ///
  /// Another process may serve the file if the file is on FUSE or 9P, or on a file system that is not in the list of
  /// mounts, or if that list cannot be read.
  private func isServed(_ mapping: Mapping) -> Bool {
    var device = mappings.device(of: mapping)
    let major = device.hexadecimal()
    device.skip(0x3A)  // ":"
    let minor = device.hexadecimal()
    // The device 0:0 means that the mapping has no file.
    guard major != 0 || minor != 0 else { return false }
    let path = mappings.path(of: mapping).text
    // These files are on the kernel's internal file system for shared memory, which is not in the list of mounts.
    if path.matches("/memfd:") || path.matches("/dev/zero") || path.matches("/SYSV") {
      return false
    }
    return isServed(major, minor)
  }

  /// True if the file system with this device number may be served by another process.
  ///
  /// FUSE can also serve a file system on a block device (`fuseblk`), which has the number of that device, so the type
  /// of the file system is read from mountinfo.
  @inline(never)
  private func isServed(_ major: UInt64, _ minor: UInt64) -> Bool {
    let room = mappings.room
    let count = unsafe proc.readList(
      named: "thread-self/mountinfo", into: room.address, capacity: room.size)
    guard let count else { return true }
    var list = room.text(count: count)
    // A line has the form `ID parent major:minor root mount-point options … - type source options`.
    while !list.isAtEnd {
      list.skipWords(2)
      let isMajor = list.decimal() == major
      list.skip(0x3A)  // ":"
      if isMajor, list.decimal() == minor {
        while !list.isAtEnd, !list.matches("- ") { list.skipWords(1) }
        list.skipWords(1)
        return list.matches("fuse") || list.matches("9p")
      }
      list.skipLine()
    }
    return true
  }
}
