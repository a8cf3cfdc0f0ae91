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
    group.path = ControlGroup.memoryPath(TextFile.text("/proc/self/cgroup") ?? "")
    let path = group.path ?? "/"
    let root = "/sys/fs/cgroup"
    // As with `ControlGroup.open`: in a container the mount's root may be the group.
    for folder in ["\(root)\(path)", "\(root)/memory\(path)", root, "\(root)/memory"] {
      guard group.kills == nil else { break }
      if let events = TextFile.text("\(folder)/memory.events") {
        group.kills = RunEvidence.number("oom_kill", in: events)
        group.used = value("\(folder)/memory.current")
        group.limit = value("\(folder)/memory.max")
      } else if let control = TextFile.text("\(folder)/memory.oom_control") {
        group.kills = RunEvidence.number("oom_kill", in: control)
        group.used = value("\(folder)/memory.usage_in_bytes")
        // Version 1 says "no limit" with the largest number of pages.
        group.limit = value("\(folder)/memory.limit_in_bytes").flatMap { $0 >= 1 << 62 ? nil : $0 }
      } else {
        continue
      }
      group.processCount = TextFile.text("\(folder)/cgroup.procs").map {
        UInt64($0.split(separator: "\n").count)
      }
    }
    return group
  }

  private static func value(_ path: String) -> UInt64? {
    TextFile.text(path).flatMap { UInt64($0.trimmingLineEnd()) }
  }
}
