internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Finds the process's memory and pids cgroups and opens their files.
///
/// Ordinary code. Source: cgroups(7), Linux Documentation/admin-guide/cgroup-v2.rst.
struct Cgroup {
  let files: CgroupFiles
  /// The memory cgroup's path; nil if there is none.
  let path: String?

  /// The calling process's.
  static func current() -> Cgroup {
    let text = SystemFile.text("/proc/self/cgroup") ?? ""
    let paths = CgroupText.paths(in: text)
    let unified = paths[""] ?? "/"
    let files = CgroupFiles(
      memoryUsed: open(
        unified, "memory.current", or: paths["memory"], "memory", "memory.usage_in_bytes"),
      memoryLimit: open(
        unified, "memory.max", or: paths["memory"], "memory", "memory.limit_in_bytes"),
      tasksUsed: open(unified, "pids.current", or: paths["pids"], "pids", "pids.current"),
      tasksLimit: open(unified, "pids.max", or: paths["pids"], "pids", "pids.max"))
    return Cgroup(files: files, path: CgroupText.memoryPath(in: text))
  }

  /// Opens a file of version 2, or else the one of version 1.
  ///
  /// In a container the path may be the host's while the mount shows only the container's own group
  /// at its root, so the root is tried last.
  private static func open(
    _ unified: String, _ name: String, or path: String?, _ controller: String, _ oldName: String
  ) -> HeldFile {
    let root = CgroupText.root
    var candidates = ["\(root)\(unified)/\(name)"]
    if let path { candidates.append("\(root)/\(controller)\(path)/\(oldName)") }
    candidates += ["\(root)/\(name)", "\(root)/\(controller)/\(oldName)"]
    for candidate in candidates {
      let descriptor = unsafe Glibc.open(candidate, O_RDONLY | O_CLOEXEC)
      if descriptor >= 0 {
        return HeldFile(descriptor)
      }
    }
    return HeldFile()
  }
}
