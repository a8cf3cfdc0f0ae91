internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

extension RunCourse {
  /// That of the calling process, at its start.
  static func current(product: String?, version: String?, environment: String?) -> RunCourse {
    var course = RunCourse()
    course.launch = RunEvidence.current()
    course.followsExits = pm_follows_exits() == 1
    course.executablePath = LaunchFacts.executablePath()
    course.product = product.map { String($0.prefix(256)) }
    course.version = version.map { String($0.prefix(256)) }
    course.environment = environment.map { String($0.prefix(256)) }
    return course
  }
}

extension RunEvidence {
  /// Reads the calling process's evidence from some ten small files of the system.
  static func current() -> RunEvidence {
    var evidence = RunEvidence(time: LaunchFacts.time(CLOCK_REALTIME))
    evidence.uptime = UInt64(bitPattern: LaunchFacts.time(CLOCK_BOOTTIME))
    evidence.machineKills = CgroupText.number("oom_kill", in: TextFile.text("/proc/vmstat"))
    let group = MemoryGroup.current()
    evidence.cgroup = group.path
    evidence.groupKills = group.kills
    evidence.groupProcesses = group.processCount
    evidence.memoryUsed = group.used
    evidence.memoryLimit = group.limit
    let pages = TextFile.text("/proc/self/statm")?.split(separator: " ")
    if let pages, pages.count > 1, let resident = UInt64(pages[1]) {
      evidence.residentMemory = resident &* UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))
    }
    let memory = TextFile.text("/proc/meminfo")
    evidence.machineMemory = CgroupText.number("MemTotal:", in: memory).map { $0 << 10 }
    evidence.availableMemory = CgroupText.number("MemAvailable:", in: memory).map { $0 << 10 }
    evidence.lockedFiles = LockedFiles.current()
    return evidence
  }
}
