internal import Glibc

/// Parses the kernel's text files about cgroups.
///
/// Signal handlers must not use this type. Source: cgroups(7), Linux Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/memory.rst.
package enum CgroupText {
  package static let root = "/sys/fs/cgroup"

  /// A process's paths in the cgroup hierarchies; nil for a hierarchy that is not used or does not contain the
  /// process.
  package struct Paths {
    /// The path in cgroup version 2.
    package var unified: String?
    /// The paths for the controllers `memory` and `pids` in version 1; nil for a controller that version 2 manages.
    package var memory: String?
    package var tasks: String?

    /// The path of the memory cgroup.
    package var ofMemory: String? {
      (memory ?? unified).map { $0.utf8.count > 1024 ? String($0.prefix(1024)) : $0 }
    }
  }

  /// Finds the paths in the text of `/proc/PID/cgroup`.
  package static func paths(in text: String) -> Paths {
    var paths = Paths()
    // A line is "hierarchy:controllers:path"; in version 2, the hierarchy is 0 and the controllers are empty.
    for var path in text.lazyLines {
      guard path.cut(before: UInt8(ascii: ":")) != nil,
        var controllers = path.cut(before: UInt8(ascii: ":"))
      else { continue }
      if controllers.isEmpty { paths.unified = String(path) }
      while !controllers.isEmpty {
        let controller = controllers.cut(before: UInt8(ascii: ",")) ?? controllers.cutAll()
        if controller == "memory" { paths.memory = String(path) }
        if controller == "pids" { paths.tasks = String(path) }
      }
    }
    return paths
  }
}

/// This process's memory cgroup, and its two files with the memory in use and with the limit, which the handler keeps
/// open.
package struct MemoryCgroupFiles {
  /// The cgroup's path; nil if there is none.
  package let path: String?
  /// The directory of the cgroup's files; nil if the files cannot be opened.
  package let directory: String?
  /// True if the files belong to cgroup version 2.
  package let isUnified: Bool
  /// The descriptors of two files, which contain the number of bytes in use and the limit on this number.
  ///
  /// A descriptor is -1 if its file is missing.
  package let used: Int32
  package let limit: Int32
  /// The limit when the files were opened; nil if there was none, or if it could not be read.
  package let limitAtOpening: UInt64?

  package init(
    path: String?, directory: String?, isUnified: Bool, used: Int32, limit: Int32
  ) {
    self.path = path
    self.directory = directory
    self.isUnified = isUnified
    self.used = used
    self.limit = limit
    limitAtOpening = Self.limit(in: limit)
  }

  /// Reads the limit from a file; nil if there is no limit or the file cannot be read.
  ///
  /// Cgroup version 1 represents the absence of a limit as a huge number, so 2^62 bytes or more count as no limit.
  fileprivate static func limit(in file: Int32) -> UInt64? {
    SystemFile.integer(file).flatMap { $0 >= 1 << 62 ? nil : $0 }
  }
}

/// Numbers from this process's memory cgroup, which show whether the kernel killed a process when memory ran out.
///
/// Source: Linux Documentation/admin-guide/cgroup-v2.rst, memory.events;
/// Documentation/admin-guide/cgroup-v1/memory.rst, memory.oom_control.
package struct MemoryCgroup {
  let path: String?
  /// The number of processes in the cgroup that the kernel killed when memory ran out.
  var kills: UInt64?
  var processCount: UInt64?
  var used: UInt64?
  /// The limit of the cgroup's memory in bytes; nil if there is none, or if it could not be read.
  var limit: UInt64?

  /// Reads the numbers of the calling process's memory cgroup.
  ///
  /// - Parameter isNew: true if the files were just opened, so that `limitAtOpening` is the current limit.
  init(_ files: MemoryCgroupFiles, isNew: Bool) {
    path = files.path
    guard let directory = files.directory else { return }
    let events = files.isUnified ? "memory.events" : "memory.oom_control"
    kills = SystemFile.number(
      "oom_kill", in: SystemFile.text("\(directory)/\(events)", isOneRecord: true))
    limit = isNew ? files.limitAtOpening : MemoryCgroupFiles.limit(in: files.limit)
    // Without a limit, the other numbers are not read, because they are not used.
    guard limit != nil else { return }
    used = SystemFile.integer(files.used)
    processCount = SystemFile.bytes("\(directory)/cgroup.procs").map { bytes in
      bytes.reduce(0) { $1 == UInt8(ascii: "\n") ? $0 &+ 1 : $0 }
    }
  }

  /// Returns how many processes in a memory cgroup the kernel killed when memory ran out; nil if no file shows the
  /// number, for example because the cgroup no longer exists or is not visible to this process.
  package static func kills(of path: String) -> UInt64? {
    let root = CgroupText.root
    var directories = ["\(root)\(path)", "\(root)/memory\(path)"]
    // In a container, the caller's path may be the path on the host, while the root of the mount is already the
    // caller's cgroup. If the mount also shows other cgroups, the files at its root contain the totals of all cgroups,
    // so the root is tried last.
    if let own = SystemFile.text("/proc/self/cgroup"), CgroupText.paths(in: own).ofMemory == path {
      directories += [root, "\(root)/memory"]
    }
    for directory in directories {
      for name in ["memory.events", "memory.oom_control"] {
        let text = SystemFile.text("\(directory)/\(name)")
        if let count = SystemFile.number("oom_kill", in: text) { return count }
      }
    }
    return nil
  }
}

/// Values from `/proc` that apply to the whole machine.
package enum MachineCounts {
  /// The number of processes that were killed since boot because memory ran out.
  package static var kills: UInt64? {
    SystemFile.number("oom_kill", inFile: "/proc/vmstat")
  }

  /// The time of the boot, in nanoseconds since 1970.
  package static var bootTime: Int64? {
    SystemFile.number("btime", in: SystemFile.text("/proc/stat"))
      .flatMap { $0 > 1 << 33 ? nil : Int64(clamping: $0) &* 1_000_000_000 }
  }
}
