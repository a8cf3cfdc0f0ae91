internal import Glibc
internal import IntermediateDump

/// The numbers of this process's memory control group that tell of a kill for want of memory.
///
/// Ordinary code. Source: Linux Documentation/admin-guide/cgroup-v2.rst, memory.events;
/// Documentation/admin-guide/cgroup-v1/memory.rst, memory.oom_control.
struct MemoryGroup {
  var path: String?
  /// Processes of the group that the kernel killed.
  var kills: UInt64?
  var processCount: UInt64?
  var used: UInt64?
  /// Nil for none.
  var limit: UInt64?

  /// That of the calling process.
  init(_ cgroup: Cgroup) {
    path = cgroup.path
    guard let directory = cgroup.memoryDirectory else { return }
    let events = cgroup.isUnified ? "memory.events" : "memory.oom_control"
    kills = CgroupText.number(
      "oom_kill", in: TextFile.text("\(directory)/\(events)", isOneRecord: true))
    used = Self.value(cgroup.files.memoryUsed)
    // Version 1 says "no limit" with the largest number of pages.
    limit = Self.value(cgroup.files.memoryLimit).flatMap { $0 >= 1 << 62 ? nil : $0 }
    // Nobody asks for it where there is no limit.
    guard limit != nil else { return }
    processCount = TextFile.bytes("\(directory)/cgroup.procs").map { bytes in
      bytes.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 + 1 : $0 }
    }
  }

  /// Read at its place, so that the crash reads from the start too.
  private static func value(_ file: HeldFile) -> UInt64? {
    var digits: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    return unsafe withUnsafeMutableBytes(of: &digits) { buffer in
      let count = unsafe pread(file.descriptor, buffer.baseAddress, buffer.count, 0)
      guard count > 0 else { return nil }
      return unsafe UInt64(
        String(decoding: buffer.prefix(count), as: UTF8.self).trimmingLineEnd())
    }
  }
}
