internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

extension RunCourse {
  /// That of the calling process, at its start.
  static func current(_ facts: LaunchFacts) -> RunCourse {
    var course = RunCourse()
    course.launch = RunEvidence.current(facts.cgroup)
    course.followsExits = pm_follows_exits() == 1
    course.executablePath = facts.executablePath
    course.product = facts.product.map { String($0.prefix(256)) }
    course.version = facts.version.map { String($0.prefix(256)) }
    course.environment = facts.environment.map { String($0.prefix(256)) }
    return course
  }
}

extension RunEvidence {
  /// What the calling process sees now, but for the files that it has locked: reading `/proc/locks`
  /// waits milliseconds for all processors, and only a beat is asked for them.
  static func current(_ cgroup: Cgroup) -> RunEvidence {
    var evidence = RunEvidence(time: LaunchFacts.time(CLOCK_REALTIME))
    evidence.uptime = UInt64(bitPattern: LaunchFacts.time(CLOCK_BOOTTIME))
    evidence.machineKills = CgroupText.number("oom_kill", in: TextFile.text("/proc/vmstat"))
    let group = MemoryGroup(cgroup)
    evidence.cgroup = group.path
    evidence.groupKills = group.kills
    evidence.groupProcesses = group.processCount
    evidence.memoryUsed = group.used
    evidence.memoryLimit = group.limit
    let pages = TextFile.text("/proc/self/statm", isOneRecord: true)
    if let resident = pages?[...].word(1).flatMap({ UInt64($0) }) {
      evidence.residentMemory = resident &* UInt64(max(0, sysconf(Int32(_SC_PAGESIZE))))
    }
    let memory = TextFile.text("/proc/meminfo", isOneRecord: true)
    evidence.machineMemory = CgroupText.number("MemTotal:", in: memory).map { $0 << 10 }
    evidence.availableMemory = CgroupText.number("MemAvailable:", in: memory).map { $0 << 10 }
    return evidence
  }
}
