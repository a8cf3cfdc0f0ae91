internal import CSignalSafe

/// Calculates how much memory the process's memory cgroup has left.
///
/// If a dump takes more memory than is left, the kernel may kill the process.
///
/// RUNS-DURING-CRASH. Source: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
struct MemoryRoom {
  /// How many bytes of memory capturing one thread takes.
  ///
  /// These bytes are for the signal frame and the handler's frames on an unused stack, the page tables of that stack,
  /// and the thread's part of the dump.
  ///
  /// Docs/Decisions/16-reading-memory.md contains the measurements.
  private static var perThread: UInt64 { 24 &<< 10 }
  /// How many bytes of memory a dump of a process with one thread takes.
  private static var fixed: UInt64 { 512 &<< 10 }
  /// If at least this many bytes are left, the cache, which the kernel can free, is not read and not counted as left.
  private static var plenty: UInt64 { 128 &<< 20 }
  private static var little: UInt64 { 8 &<< 20 }

  /// The memory use and limit of the cgroup in bytes; nil if there is no limit, or the number is unknown.
  let (used, limit): (UInt64?, UInt64?)
  /// How many bytes the process may still use; `UInt64.max` if there is no limit, or it is unknown.
  private let bytes: UInt64

  /// Reads the memory use and limit of the cgroup.
  @_noLocks
  init(_ capture: Capture) {
    let files = capture.installed.cgroup
    used = capture.number(in: files.memoryUsed)
    limit = capture.number(in: files.memoryLimit)
    guard let used, let limit else {
      bytes = .max
      return
    }
    let left = limit > used ? limit &- used : 0
    bytes = left < MemoryRoom.plenty ? left &+ capture.cache(in: files.memoryKinds) : left
  }

  /// Whether the kernel may kill the process because of the memory that the capture uses.
  var isShort: Bool { @_noLocks get { bytes < MemoryRoom.little } }

  /// Whether there is enough memory for a dump of a process that continues; at least twice the memory that a dump of
  /// one thread takes must be left.
  var isEnough: Bool { @_noLocks get { bytes >= 2 &* MemoryRoom.fixed } }

  /// The number of other threads for whose capture the remaining memory is enough.
  var threads: Int {
    @_noLocks get {
      guard bytes > MemoryRoom.fixed else { return 0 }
      return Int(truncatingIfNeeded: (bytes &- MemoryRoom.fixed) / MemoryRoom.perThread)
    }
  }
}

extension Capture {
  /// Reads the number in a cgroup file that was opened when the handler was installed.
  ///
  /// The result is nil if the file shows no limit, or if the file cannot be read.
  @_noLocks
  func number(in file: HeldFile) -> UInt64? {
    var text = text(of: file, capacity: 64)
    guard text.current >= 0x30, text.current <= 0x39 else { return nil }
    let value = text.decimal()
    // In version 1 of cgroups, the largest multiple of the page size below 2^63 means "no limit", so numbers from 2^62
    // on count as no limit.
    return value < 1 &<< 62 ? value : nil
  }

  /// Returns how many bytes of the cgroup's memory are cached files, which the kernel can free.
  @_noLocks
  func cache(in file: HeldFile) -> UInt64 {
    var text = text(of: file, capacity: session.scratch.size)
    let inactive = text.find("inactive_file") ? text.decimal() : 0
    return text.find("active_file") ? inactive &+ text.decimal() : inactive
  }

  private func text(of file: HeldFile, capacity: Int) -> TextScanner {
    let scratch = session.scratch
    guard mayMake(CallBit.proc), isSame(file) else { return scratch.text(count: 0) }
    let count = unsafe pm_pread(file.descriptor, scratch.address, capacity, 0)
    return scratch.text(count: count > 0 ? count : 0)
  }
}
