/// Open files of the process's cgroups; none if the process has no cgroup.
///
/// The files are opened when the handler starts, because their paths may be unreachable in a crash. A forked child
/// inherits the descriptors.
struct CgroupFiles {
  let memoryUsed: HeldFile
  let memoryLimit: HeldFile
  /// The file `memory.stat`; not open if the cgroup had no memory limit at launch.
  let memoryKinds: HeldFile
  let tasksUsed: HeldFile
  let tasksLimit: HeldFile
}
