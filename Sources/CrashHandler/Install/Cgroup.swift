internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// The process's cgroups for the controllers `memory` and `pids`, and the descriptors of their open files.
///
/// Not crash code. Source: cgroups(7), Linux Documentation/admin-guide/cgroup-v2.rst.
struct Cgroup {
  let files: CgroupFiles
  /// The files of the memory cgroup, with the same descriptors as in `files`.
  let memory: MemoryCgroupFiles

  /// Opens the files of the calling process's cgroups.
  ///
  /// `memory.stat`, which shows how much of the used memory is cache, is opened only if the memory cgroup has a
  /// limit.
  ///
  /// - Parameters:
  ///   - text: the contents of `/proc/self/cgroup`; nil to read the file.
  ///   - root: the directory where cgroups are mounted.
  static func current(text: String? = nil, root: String = CgroupText.root) -> Cgroup {
    let text = text ?? SystemFile.text("/proc/self/cgroup", isOneRecord: true) ?? ""
    let paths = CgroupText.paths(in: text)
    let used = open(
      paths, paths.memory, root, "memory", "memory.current", "memory.usage_in_bytes")
    let tasks = open(paths, paths.tasks, root, "pids", "pids.current", "pids.current")
    let memoryUsed = HeldFile(used.descriptor)
    let memoryLimit = file(besides: used, "memory.max", "memory.limit_in_bytes")
    let memory = MemoryCgroupFiles(
      path: paths.ofMemory, directory: used.directory, isUnified: used.isUnified,
      used: memoryUsed.descriptor, limit: memoryLimit.descriptor)
    return Cgroup(
      files: CgroupFiles(
        memoryUsed: memoryUsed, memoryLimit: memoryLimit,
        memoryKinds: memory.limitAtOpening == nil
          ? HeldFile() : file(besides: used, "memory.stat", "memory.stat"),
        tasksUsed: HeldFile(tasks.descriptor),
        tasksLimit: file(besides: tasks, "pids.max", "pids.max")),
      memory: memory)
  }

  /// True if the memory cgroup has a limit.
  var isLimited: Bool { memory.limitAtOpening != nil }

  /// Closes the files; called if they are not kept for a crash.
  func close() {
    for file in [
      files.memoryUsed, files.memoryLimit, files.memoryKinds, files.tasksUsed, files.tasksLimit,
    ] where file.descriptor >= 0 {
      Glibc.close(file.descriptor)
    }
  }

  /// An open file that shows a cgroup's usage, such as `memory.current`: its descriptor (-1 if there is none), its
  /// directory, and whether it is of cgroup version 2 (`isUnified`).
  private struct Usage {
    var descriptor: Int32 = -1
    var directory: String?
    var isUnified = false

    init() {}

    init(_ directory: String, _ name: String, isUnified: Bool) {
      descriptor = Cgroup.open(directory + "/" + name)
      guard descriptor >= 0 else { return }
      self.directory = directory
      self.isUnified = isUnified
    }
  }

  /// Opens the file that shows a cgroup's usage, in the version 1 hierarchy if that hierarchy has the controller.
  ///
  /// In a container, the path may be the path on the host, while the root of the mount is already the container's
  /// cgroup. So the root is tried last. On a host with version 2, nothing is found there, because the root cgroup of
  /// version 2 has no usage file.
  private static func open(
    _ paths: CgroupText.Paths, _ path: String?, _ root: String, _ controller: String,
    _ name: String, _ oldName: String
  ) -> Usage {
    var usage = Usage()
    if path == nil {
      if let path = paths.unified, path != "/" { usage = Usage(root + path, name, isUnified: true) }
      if usage.descriptor < 0 { usage = Usage(root, name, isUnified: true) }
      // Without /proc, the version of the cgroup is not known, so version 1 is tried next.
      if usage.descriptor >= 0 || paths.unified != nil { return usage }
    }
    let oldRoot = root + "/" + controller
    if let path, path != "/" { usage = Usage(oldRoot + path, oldName, isUnified: false) }
    return usage.descriptor >= 0 ? usage : Usage(oldRoot, oldName, isUnified: false)
  }

  private static func file(besides usage: Usage, _ name: String, _ oldName: String) -> HeldFile {
    guard let directory = usage.directory else { return HeldFile() }
    let path = directory + "/" + (usage.isUnified ? name : oldName)
    return HeldFile(open(path))
  }

  private static func open(_ path: String) -> Int32 {
    unsafe path.withCString { unsafe Glibc.open($0, O_RDONLY | O_CLOEXEC) }
  }
}
