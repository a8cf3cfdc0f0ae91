internal import CSignalSafe

/// The files of the process's cgroup; none where there is none.
///
/// Held open since install: their paths may be out of reach in a crash, and a forked child has the
/// same.
struct CgroupFiles {
  let memoryUsed: HeldFile
  let memoryLimit: HeldFile
  /// `memory.stat`.
  let memoryKinds: HeldFile
  let tasksUsed: HeldFile
  let tasksLimit: HeldFile
}

/// Tells what the process may take of its memory cgroup: beyond that the kernel kills it in place of its
/// crash.
///
/// RUNS-DURING-CRASH. Source: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
struct MemoryRoom {
  /// Bytes that a thread takes: its signal frame and handler on a stack that was not used yet, the tables
  /// of that, and its part of the dump. Measured: Docs/Decisions/0069.
  private static var perThread: UInt64 { 24 &<< 10 }
  /// Bytes that a dump of one thread takes.
  private static var fixed: UInt64 { 512 &<< 10 }
  /// Bytes with which the capture need not ask what of the used is a cache.
  private static var plenty: UInt64 { 128 &<< 20 }
  private static var little: UInt64 { 8 &<< 20 }

  /// Nil where there is no limit, or it is not known.
  private let bytes: UInt64?

  /// Asks the cgroup.
  @_noLocks
  init(_ files: CgroupFiles, _ calls: CrashCalls, _ scratch: Scratch) {
    guard let used = calls.number(in: files.memoryUsed, scratch),
      let limit = calls.number(in: files.memoryLimit, scratch)
    else {
      bytes = nil
      return
    }
    let left = limit > used ? limit &- used : 0
    bytes = left < MemoryRoom.plenty ? left &+ calls.cache(in: files.memoryKinds, scratch) : left
  }

  /// Whether the kernel may kill the process for what the capture takes.
  var isShort: Bool { @_noLocks get { bytes.map { $0 < MemoryRoom.little } ?? false } }

  /// Whether there is room for a dump of a process that lives on.
  var isEnough: Bool { @_noLocks get { bytes.map { $0 >= 2 &* MemoryRoom.fixed } ?? true } }

  /// Other threads that there is room for.
  var threads: Int {
    @_noLocks get {
      guard let bytes else { return .max }
      guard bytes > MemoryRoom.fixed else { return 0 }
      return Int(truncatingIfNeeded: (bytes &- MemoryRoom.fixed) / MemoryRoom.perThread)
    }
  }
}

extension CrashCalls {
  /// The number in a file of the cgroup, held open since install; nil for "max", or if it cannot be read.
  @_noLocks
  func number(in file: HeldFile, _ scratch: Scratch) -> UInt64? {
    var text = text(of: file, capacity: 64, scratch)
    guard text.current >= 0x30, text.current <= 0x39 else { return nil }
    let value = text.decimal()
    // Version 1 says "no limit" with the largest multiple of a page.
    return value < 1 &<< 62 ? value : nil
  }

  /// Bytes of files that the kernel can let go of.
  fileprivate func cache(in file: HeldFile, _ scratch: Scratch) -> UInt64 {
    var text = text(of: file, capacity: scratch.size, scratch)
    let inactive = text.find("inactive_file") ? text.decimal() : 0
    return text.find("active_file") ? inactive &+ text.decimal() : inactive
  }

  private func text(of file: HeldFile, capacity: Int, _ scratch: Scratch) -> TextScanner {
    guard mayMake(CallBit.cgroup), isSame(file) else { return scratch.text(count: 0) }
    let count = unsafe pm_pread(file.descriptor, scratch.address, capacity, 0)
    return scratch.text(count: count > 0 ? count : 0)
  }
}
