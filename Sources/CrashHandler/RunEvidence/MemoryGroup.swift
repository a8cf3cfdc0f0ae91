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

  static func current() -> MemoryGroup {
    var group = MemoryGroup()
    group.path = CgroupText.memoryPath(in: TextFile.text("/proc/self/cgroup") ?? "")
    for directory in CgroupText.memoryDirectories(of: group.path ?? "/", isOwn: true) {
      guard let kills = CgroupText.memoryKills(in: directory, contents: TextFile.text) else {
        continue
      }
      group.kills = kills.count
      if kills.isUnified {
        group.used = value("\(directory)/memory.current")
        group.limit = value("\(directory)/memory.max")
      } else {
        group.used = value("\(directory)/memory.usage_in_bytes")
        // Version 1 says "no limit" with the largest number of pages.
        group.limit = value("\(directory)/memory.limit_in_bytes").flatMap {
          $0 >= 1 << 62 ? nil : $0
        }
      }
      group.processCount = TextFile.text("\(directory)/cgroup.procs").map {
        UInt64($0.split(separator: "\n").count)
      }
      break
    }
    return group
  }

  private static func value(_ path: String) -> UInt64? {
    TextFile.text(path).flatMap { UInt64($0.trimmingLineEnd()) }
  }
}
