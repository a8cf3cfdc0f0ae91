internal import Glibc
internal import IntermediateDump

/// The process's memory and pids control groups, with their files open.
///
/// Ordinary code. Source: cgroups(7), Linux Documentation/admin-guide/cgroup-v2.rst.
struct Cgroup {
  let files: CgroupFiles
  /// The memory control group's path; nil if there is none.
  let path: String?
  /// Where its files lie, and whether they are version 2's; nil if they cannot be opened.
  let memory: (directory: String, isUnified: Bool)?

  /// The calling process's.
  static func current() -> Cgroup {
    let paths = CgroupText.paths(in: TextFile.text("/proc/self/cgroup", isOneRecord: true) ?? "")
    let memory = open(paths, paths.memory, "memory", "memory.current", "memory.usage_in_bytes")
    let tasks = open(paths, paths.tasks, "pids", "pids.current", "pids.current")
    return Cgroup(
      files: CgroupFiles(
        memoryUsed: HeldFile(memory?.descriptor ?? -1),
        memoryLimit: limit(memory, "memory.max", "memory.limit_in_bytes"),
        tasksUsed: HeldFile(tasks?.descriptor ?? -1),
        tasksLimit: limit(tasks, "pids.max", "pids.max")),
      path: paths.ofMemory, memory: memory.map { ($0.directory, $0.isUnified) })
  }

  /// Closes the files, where they are not for a crash.
  func close() {
    for file in [files.memoryUsed, files.memoryLimit, files.tasksUsed, files.tasksLimit]
    where file.descriptor >= 0 {
      Glibc.close(file.descriptor)
    }
  }

  private typealias Usage = (descriptor: Int32, directory: String, isUnified: Bool)

  /// Opens the file that tells what a control group uses, of version 1 where that has the controller.
  ///
  /// In a container the path may be the host's while the mount shows only the container's own group
  /// at its root, so the root is tried last. The root of the host has no such file.
  private static func open(
    _ paths: CgroupText.Paths, _ path: String?, _ controller: String, _ name: String,
    _ oldName: String
  ) -> Usage? {
    let root = CgroupText.root
    if path == nil {
      if let path = paths.unified, path != "/", let usage = usage("\(root)\(path)", name, true) {
        return usage
      }
      if let usage = usage(root, name, true) { return usage }
      // Without /proc nothing says which version it is.
      if paths.unified != nil { return nil }
    }
    if let path, path != "/", let usage = usage("\(root)/\(controller)\(path)", oldName, false) {
      return usage
    }
    return usage("\(root)/\(controller)", oldName, false)
  }

  private static func usage(_ directory: String, _ name: String, _ isUnified: Bool) -> Usage? {
    let descriptor = unsafe Glibc.open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC)
    return descriptor >= 0 ? (descriptor, directory, isUnified) : nil
  }

  private static func limit(_ usage: Usage?, _ name: String, _ oldName: String) -> HeldFile {
    guard let usage else { return HeldFile() }
    let path = "\(usage.directory)/\(usage.isUnified ? name : oldName)"
    return HeldFile(unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC))
  }
}
