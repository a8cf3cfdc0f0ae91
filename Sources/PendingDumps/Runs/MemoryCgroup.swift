internal import Glibc

/// Reads the kernel's texts on cgroups.
///
/// Ordinary code. Source: cgroups(7), Linux Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/memory.rst.
package enum CgroupText {
  package static let root = "/sys/fs/cgroup"

  /// The paths in the text of `/proc/PID/cgroup`, by controller; "" for version 2.
  package static func paths(in text: String) -> [String: String] {
    var paths: [String: String] = [:]
    // "hierarchy:controllers:path"; version 2 has hierarchy 0 and no controllers.
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { continue }
      for controller in fields[1].split(separator: ",", omittingEmptySubsequences: false) {
        paths[String(controller)] = String(fields[2])
      }
    }
    return paths
  }

  /// The memory cgroup's path in such a text; nil if there is none.
  package static func memoryPath(in text: String) -> String? {
    let paths = paths(in: text)
    return (paths["memory"] ?? paths[""]).map { String($0.prefix(1024)) }
  }
}

/// The numbers of this process's memory cgroup that tell of a kill for want of memory.
///
/// Source: Linux Documentation/admin-guide/cgroup-v2.rst, memory.events;
/// Documentation/admin-guide/cgroup-v1/memory.rst, memory.oom_control.
package struct MemoryCgroup {
  var path = MemoryCgroup.ownPath
  /// Processes of the cgroup that the kernel killed.
  var kills: UInt64?
  var processCount: UInt64?
  var used: UInt64?
  /// Nil for none.
  var limit: UInt64?

  /// That of the calling process.
  static func current() -> MemoryCgroup {
    var group = MemoryCgroup()
    for directory in directories(of: group.path ?? "/", isOwn: true) {
      guard let (kills, isUnified) = kills(inDirectory: directory) else { continue }
      group.kills = kills
      if isUnified {
        group.used = SystemFile.integer("\(directory)/memory.current")
        group.limit = SystemFile.integer("\(directory)/memory.max")
      } else {
        group.used = SystemFile.integer("\(directory)/memory.usage_in_bytes")
        // Version 1 says "no limit" with the largest number of pages.
        group.limit = SystemFile.integer("\(directory)/memory.limit_in_bytes").flatMap {
          $0 >= 1 << 62 ? nil : $0
        }
      }
      group.processCount = SystemFile.text("\(directory)/cgroup.procs").map {
        UInt64($0.split(separator: "\n").count)
      }
      break
    }
    return group
  }

  /// Processes of any memory cgroup that the kernel killed; nil if it is not there any more.
  package static func kills(of path: String) -> UInt64? {
    for directory in directories(of: path, isOwn: path == ownPath) {
      if let kills = kills(inDirectory: directory) { return kills.count }
    }
    return nil
  }

  private static var ownPath: String? {
    SystemFile.text("/proc/self/cgroup").flatMap(CgroupText.memoryPath)
  }

  /// The directories in which the files of a memory cgroup may lie.
  ///
  /// - Parameter isOwn: true for the caller's own. In a container its path may be the host's while
  ///   the mount shows only that cgroup, at its root; for another cgroup the root would answer with
  ///   the numbers of all.
  private static func directories(of path: String, isOwn: Bool) -> [String] {
    let root = CgroupText.root
    let directories = ["\(root)\(path)", "\(root)/memory\(path)"]
    return isOwn ? directories + [root, "\(root)/memory"] : directories
  }

  /// Nil where the directory is not that of a memory cgroup.
  private static func kills(
    inDirectory directory: String
  ) -> (count: UInt64, isUnified: Bool)? {
    for (name, isUnified) in [("memory.events", true), ("memory.oom_control", false)] {
      let text = SystemFile.text("\(directory)/\(name)")
      if let count = SystemFile.number("oom_kill", in: text) { return (count, isUnified) }
    }
    return nil
  }
}

/// The machine's own counters.
package enum MachineCounts {
  /// Processes killed for want of memory since boot.
  package static var kills: UInt64? {
    SystemFile.number("oom_kill", in: SystemFile.text("/proc/vmstat"))
  }

  /// The time of the boot, in nanoseconds since 1970.
  package static var bootTime: Int64? {
    SystemFile.number("btime", in: SystemFile.text("/proc/stat"))
      .flatMap { $0 > 1 << 33 ? nil : Int64(clamping: $0) &* 1_000_000_000 }
  }
}
