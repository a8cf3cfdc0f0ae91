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
  let mappings: MappingTable
  private let proc: ProcReader

  @_noLocks
  init(resident: ResidentPages, mappings: MappingTable, proc: ProcReader) {
    self.resident = resident
    self.mappings = mappings
    self.proc = proc
  }

  /// Copies up to `count` bytes from one mapping; returns the number of bytes that could be read.
  @_noLocks
  func copy(_ address: UInt64, to place: UnsafeMutableRawPointer, count: Int) -> Int {
    guard let mapping = mappings.mapping(around: address), mapping.has(Mapping.isReadable) else {
      return 0
    }
    let device = device(of: mapping)
    if device != 0, isServed(device, in: mounts()) { return 0 }
    let descriptor = proc.open(named: "thread-self/mem")
    guard descriptor >= 0 else { return 0 }
    let rest = Int(truncatingIfNeeded: mapping.end &- address)
    let result = unsafe pm_pread(
      descriptor, place, count < rest ? count : rest, Int64(bitPattern: address))
    proc.close(descriptor)
    return result > 0 ? result : 0
  }

  // MARK: - Who serves the mapped files

  /// True unless each mapped file is on a file system that the kernel itself reads.
  ///
  /// - Parameter mounts: the list of mounts.
  @_noLocks
  func areServed(in mounts: TextScanner) -> Bool {
    var known: UInt64 = 0
    for index in Indices(mappings.count) {
      let mapping = mappings[index]
      guard mapping.hasPath, mapping.has(Mapping.isReadable) else { continue }
      let device = device(of: mapping)
      if device != 0, device != known, isServed(device, in: mounts) { return true }
      known = device
    }
    return mappings.count == 0 || mappings.count < mappings.total
  }

  /// Reads the list of mounts into the unused memory after the mappings; the result is empty if it cannot be read.
  @_noLocks
  func mounts() -> TextScanner {
    let room = mappings.room
    let count = unsafe proc.read(
      named: "thread-self/mountinfo", into: room.address, capacity: room.size, isList: true)
    return room.text(count: count)
  }

  /// The number of the device with a mapping's file; 0 if the mapping has no file, or a file of the kernel.
  private func device(of mapping: Mapping) -> UInt64 {
    let path = mappings.path(of: mapping).text
    // These files are on the kernel's internal file system for shared memory, which is not in the list of mounts.
    if path.matches("/memfd:") || path.matches("/dev/zero") || path.matches("/SYSV") { return 0 }
    var text = mappings.device(of: mapping)
    let major = text.hexadecimal()
    text.skip(0x3A)  // ":"
    return major &<< 32 | text.hexadecimal()
  }

  /// True if another process may serve the file system with this device number.
  ///
  /// Another process may serve it if it is FUSE or 9P, or is not in the list of mounts. FUSE can also serve a file
  /// system on a block device (`fuseblk`), which has the number of that device, so the type of the file system is read
  /// from the list.
  @inline(never)
  private func isServed(_ device: UInt64, in mounts: TextScanner) -> Bool {
    var list = mounts
    // A line has the form `ID parent major:minor root mount-point options … - type source options`.
    while !list.isAtEnd {
      list.skipWords(2)
      let isMajor = list.decimal() == device &>> 32
      list.skip(0x3A)  // ":"
      if isMajor, list.decimal() == device & 0xFFFF_FFFF {
        while !list.isAtEnd, !list.matches("- ") { list.skipWords(1) }
        list.skipWords(1)
        return list.matches("fuse") || list.matches("9p")
      }
      list.skipLine()
    }
    return true
  }
}
