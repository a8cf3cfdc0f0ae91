/// The files of the process's cgroup; none if the process has no cgroup.
///
/// The files have been open since the handler was installed, because their paths may be unreachable in a crash. A
/// forked child inherits the descriptors.
struct CgroupFiles {
  let memoryUsed: HeldFile
  let memoryLimit: HeldFile
  /// The file `memory.stat`; none if the cgroup had no memory limit at launch.
  let memoryKinds: HeldFile
  let tasksUsed: HeldFile
  let tasksLimit: HeldFile
}
