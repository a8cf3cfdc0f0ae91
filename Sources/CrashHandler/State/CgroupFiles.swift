/// The files of the process's cgroup; none if it has no cgroup.
///
/// They are open since the handler was installed, because their paths may be unavailable in a crash. A forked child
/// inherits them.
struct CgroupFiles {
  let memoryUsed: HeldFile
  let memoryLimit: HeldFile
  /// `memory.stat`; none if there was no limit at launch.
  let memoryKinds: HeldFile
  let tasksUsed: HeldFile
  let tasksLimit: HeldFile
}
