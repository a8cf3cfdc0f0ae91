/// The files of the process's cgroup; none if it has no cgroup.
///
/// Held open since install: their paths may be out of reach in a crash, and a forked child has the
/// same.
struct CgroupFiles {
  let memoryUsed: HeldFile
  let memoryLimit: HeldFile
  /// `memory.stat`; none where there was no limit at launch.
  let memoryKinds: HeldFile
  let tasksUsed: HeldFile
  let tasksLimit: HeldFile
}
