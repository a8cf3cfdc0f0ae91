public import IntermediateDump

/// The process that crashed, its resources, and the times of its launch and crash.
public struct ProcessDescription: Sendable, Equatable {
  public var processID: UInt32?
  public var parentProcessID: UInt32?
  /// The path of the executable as the kernel named it at launch.
  public var executablePath: String?
  /// The program's identifier, which is part of the names of its dumps.
  public var identifier: String?
  public var product: String?
  public var version: String?
  /// The environment that the program runs in, as free text such as "production".
  public var environment: String?
  /// The time at which the handler was started, in nanoseconds since 1970.
  public var launchTime: Int64?
  /// The time of the crash or of a dump without a crash or, for a run without a dump, of the last heartbeat, in
  /// nanoseconds since 1970.
  public var crashTime: Int64?
  /// The time from boot to the start of the handler in nanoseconds, including the time for which the machine was
  /// suspended.
  public var launchUptime: UInt64?
  /// The time from boot to the crash in nanoseconds, including the time for which the machine was suspended.
  public var crashUptime: UInt64?
  /// The time from boot to the fork that created the process, in hundredths of a second; a later exec does not change
  /// it.
  public var startTicks: UInt64?
  /// The CPU time of all threads in user mode, in nanoseconds.
  public var userTime: UInt64?
  /// The CPU time of all threads in the kernel, in nanoseconds.
  public var systemTime: UInt64?
  /// The text of `/proc/self/status` at the crash.
  public var statusText: [UInt8]?
  /// The text of `/proc/self/maps` at the crash.
  public var mapsText: [UInt8]?
  /// The kernel's auxiliary vector, as in `/proc/self/auxv`.
  public var auxiliaryVector: [UInt8]?
  /// The first 4 KiB of `/proc/self/cmdline` at launch, with a NUL after each argument; nil if they were left out or
  /// could not be read.
  public var commandLine: [UInt8]?
  /// The text of `/proc/self/limits` at the crash.
  public var limitsText: [UInt8]?
  /// The number of file descriptors that were open at the crash, including the handler's.
  public var descriptorCount: UInt32?
  /// The open descriptors with the lowest numbers, at most 256, in ascending order.
  public var descriptors: [OpenDescriptor] = []
  /// The working directory at the crash.
  public var workingDirectory: String?
  /// The number of lines of `/proc/self/maps` at the crash.
  public var mappingCount: UInt32?
  /// The value of `/proc/sys/vm/max_map_count` at the crash.
  public var mappingLimit: UInt64?
  /// The value of `/proc/self/oom_score_adj` at the crash.
  public var oomScoreAdjustment: Int32?
  public var cgroup = CgroupUsage()
  /// The time in nanoseconds after which the service manager treats the process as hung; nil without a watchdog.
  public var watchdogInterval: UInt64?
  /// The level at which secrets were left out of the report; nil if none were left out.
  public var privacy: ReportPrivacy?

  public init() {}

  /// The time from an event to the crash, in nanoseconds; nil if the event was later or the time of the crash is not
  /// known.
  ///
  /// - Parameter uptime: the time of the event by CLOCK_BOOTTIME.
  package func age(since uptime: UInt64) -> UInt64? {
    guard let crashUptime, uptime <= crashUptime else { return nil }
    return crashUptime &- uptime
  }

  /// The command-line arguments, starting with the program's name; nil if they are not known.
  ///
  /// The handler keeps at most 4 KiB, so the last argument may be cut, and arguments after it may be missing.
  public var arguments: [String]? {
    guard var rest = commandLine?[...] else { return nil }
    if rest.last == 0 { rest = rest.dropLast() } else if rest.isEmpty { return [] }
    return rest.split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// The resource limits in `limitsText`; nil if there is no such text.
  public var limits: ResourceLimits? {
    limitsText.map { ResourceLimits(parsing: $0[...]) }
  }

  /// The size in bytes of the address space in use, from `statusText`; nil if the text lacks it.
  ///
  /// Source: proc_pid_status(5), VmSize.
  public var addressSpaceSize: UInt64? { statusSize("VmSize:") }

  /// The resident memory in bytes, from `statusText`; nil if the text lacks it.
  ///
  /// Source: proc_pid_status(5), VmRSS.
  package var residentMemory: UInt64? { statusSize("VmRSS:") }

  /// The peak of the resident memory in bytes, from `statusText`; nil if the text lacks it.
  ///
  /// Source: proc_pid_status(5), VmHWM.
  package var peakResidentMemory: UInt64? { statusSize("VmHWM:") }

  /// The process's user IDs, from `statusText`; nil if the text lacks them.
  ///
  /// Source: proc_pid_status(5), Uid.
  public var userIDs: UserIDs? { identifiers("Uid:") }

  /// The process's group IDs, from `statusText`; nil if the text lacks them.
  public var groupIDs: UserIDs? { identifiers("Gid:") }

  private func identifiers(_ label: String) -> UserIDs? {
    let numbers = statusWords(label).prefix(2).compactMap { UInt32($0) }
    return numbers.count == 2 ? UserIDs(real: numbers[0], effective: numbers[1]) : nil
  }

  /// The size in a line of `statusText`, converted from KiB to bytes.
  private func statusSize(_ label: String) -> UInt64? {
    guard let size = statusWords(label).first.flatMap({ UInt64($0) }), size <= UInt64.max >> 10
    else { return nil }
    return size << 10
  }

  /// The words after the label of a line of `statusText`; empty if there is no such line.
  private func statusWords(_ label: String) -> [String] {
    let line = statusText?.split(separator: UInt8(ascii: "\n"))
      .first { $0.starts(with: label.utf8) }
    let words = line?.dropFirst(label.utf8.count).split { $0 == 0x20 || $0 == 0x09 }
    return words?.map { String(decoding: $0, as: UTF8.self) } ?? []
  }

  /// The time in nanoseconds from the process's start to the crash, in steps of 10 milliseconds.
  ///
  /// The start is the fork that created the process and not a later exec.
  ///
  /// Source: proc_pid_stat(5), field 22; sysconf(3), _SC_CLK_TCK, which is 100 on both architectures.
  public var age: UInt64? {
    guard let startTicks, let crashUptime else { return nil }
    let (start, overflow) = startTicks.multipliedReportingOverflow(by: Self.tick)
    guard !overflow, crashUptime >= start else { return nil }
    return (crashUptime &- start) / Self.tick &* Self.tick
  }

  /// The length of a clock tick in nanoseconds.
  private static var tick: UInt64 { 10_000_000 }

  /// The time of the process's start, in nanoseconds since 1970; nil if the process's age or the time of the crash is
  /// not known or is out of range.
  public var startTime: Int64? {
    guard let crashTime, let age, let nanoseconds = Int64(exactly: age) else { return nil }
    let (start, overflow) = crashTime.subtractingReportingOverflow(nanoseconds)
    return overflow ? nil : start
  }

  /// The time from the start of the handler to the crash, in nanoseconds of CLOCK_BOOTTIME; nil if either time is not
  /// known, or if the times contradict each other.
  public var uptime: UInt64? {
    guard let launchUptime, let crashUptime, crashUptime >= launchUptime else { return nil }
    return crashUptime &- launchUptime
  }

  /// The nanoseconds by which the machine's clock was set between the start of the handler and the crash, negative if it
  /// was set back; nil if a time is not known or out of range.
  ///
  /// A clock that is kept exact by small steps (NTP) also differs by some milliseconds.
  package var clockStep: Int64? {
    guard let crashTime, let launchTime, let uptime = uptime.flatMap({ Int64(exactly: $0) }) else {
      return nil
    }
    let (passed, isOut) = crashTime.subtractingReportingOverflow(launchTime)
    let (step, isFar) = passed.subtractingReportingOverflow(uptime)
    return isOut || isFar || step == .min ? nil : step
  }
}

/// The real and effective user IDs, or group IDs, of a process.
public struct UserIDs: Sendable, Equatable {
  /// The ID of the user or group to which the process belongs, normally the one that started it.
  public var real: UInt32
  /// The ID that the kernel checks permissions against.
  public var effective: UInt32

  public init(real: UInt32, effective: UInt32) {
    self.real = real
    self.effective = effective
  }
}

/// The resource usage and the limits of the cgroup that the process was in.
///
/// Source: Linux Documentation/admin-guide/cgroup-v2.rst; cgroup version 1 has the same values under other names.
public struct CgroupUsage: Sendable, Equatable {
  /// The path of the cgroup, as in `/proc/self/cgroup`.
  public var path: String?
  /// The memory in bytes that all processes of the cgroup use.
  public var memoryUsed: UInt64?
  /// The memory limit in bytes; nil if there is no limit or it is not known.
  public var memoryLimit: UInt64?
  /// The number of threads of all processes of the cgroup.
  public var tasksUsed: UInt64?
  /// The limit for `tasksUsed`; nil if there is no limit or it is not known.
  public var tasksLimit: UInt64?

  public init() {}
}

/// A resource limit as in setrlimit(2).
public struct ResourceLimit: Sendable, Equatable {
  /// The soft limit, which the kernel enforces; nil for no limit.
  public var soft: UInt64?
  /// The hard limit, up to which the process may raise the soft limit; nil for no limit.
  public var hard: UInt64?

  public init(soft: UInt64?, hard: UInt64?) {
    self.soft = soft
    self.hard = hard
  }
}

/// The limits on a process's resources that can explain a crash; each limit is nil if `/proc/<pid>/limits` lacks it.
public struct ResourceLimits: Sendable, Equatable {
  /// RLIMIT_NOFILE: one more than the highest number that a descriptor may have.
  public var openFiles: ResourceLimit?
  /// RLIMIT_STACK: the maximum size of the main thread's stack in bytes.
  public var stackSize: ResourceLimit?
  /// RLIMIT_AS: the maximum size of the address space in bytes.
  public var addressSpace: ResourceLimit?
  /// RLIMIT_NPROC: the number of threads that all processes of the real user may have together.
  public var tasks: ResourceLimit?

  /// Parses the text of `/proc/<pid>/limits`.
  ///
  /// Parsing never traps, whatever bytes the text contains. A line that the kernel cannot have written is left out.
  ///
  /// Source: proc_pid_limits(5); Linux fs/proc/base.c, proc_pid_limits().
  ///
  /// - Parameter text: a heading, then a line for each limit with its name, soft limit, hard limit and unit.
  public init(parsing text: ArraySlice<UInt8>) {
    for line in text.split(separator: UInt8(ascii: "\n")) {
      openFiles = openFiles ?? Self.limit("Max open files ", in: line)
      stackSize = stackSize ?? Self.limit("Max stack size ", in: line)
      tasks = tasks ?? Self.limit("Max processes ", in: line)
      addressSpace = addressSpace ?? Self.limit("Max address space ", in: line)
    }
  }

  private static func limit(_ name: String, in line: ArraySlice<UInt8>) -> ResourceLimit? {
    guard line.starts(with: name.utf8) else { return nil }
    let words = line.dropFirst(name.utf8.count).split(separator: UInt8(ascii: " ")).prefix(2)
      .map { String(decoding: $0, as: UTF8.self) }
    guard words.count == 2, words.allSatisfy({ $0 == "unlimited" || UInt64($0) != nil }) else {
      return nil
    }
    return ResourceLimit(soft: UInt64(words[0]), hard: UInt64(words[1]))
  }
}

extension ProcessDescription {
  /// Converts a `struct timeval` to nanoseconds.
  private static func time(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    let number = { (bytes: ArraySlice<UInt8>) in bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    return number(bytes.prefix(8)) &* 1_000_000_000 &+ number(bytes.dropFirst(8)) &* 1000
  }

  package static let mapFields = MapFields(
    ProcessDescription(),
    [
      .optional(.identifier, \.identifier),
      .optional(.processID, \.processID),
      .optional(.parentProcessID, \.parentProcessID),
      .optional(.executablePath, \.executablePath),
      .optional(.product, \.product),
      .optional(.version, \.version),
      .optional(.environment, \.environment),
      .optional(.launchTime, \.launchTime),
      .optional(.crashTime, \.crashTime),
      .optional(.launchUptime, \.launchUptime),
      .optional(.crashUptime, \.crashUptime),
      .optional(.processStart, \.startTicks),
      .optional(.userTime, \.userTime),
      .optional(.systemTime, \.systemTime),
      Field(.resourceUsage, [.bytes], size: 144) { map, process in
        guard let bytes: [UInt8] = map[.resourceUsage], bytes.count == 144 else { return false }
        process.userTime = time(bytes.prefix(16))
        process.systemTime = time(bytes.dropFirst(16).prefix(16))
        return true
      } write: { _, _ in
      },
      .optional(.processStatus, \.statusText),
      .optional(.auxiliaryVector, \.auxiliaryVector),
      .optional(.commandLine, \.commandLine),
      .optional(.limitsText, \.limitsText),
      .optional(.descriptorCount, \.descriptorCount),
      .array(
        .descriptors, of: .descriptor, \.descriptors, OpenDescriptor.mapFields, limit: 4096),
      .optional(.workingDirectory, \.workingDirectory),
      .optional(.mappingCount, \.mappingCount),
      .optional(.mappingLimit, \.mappingLimit),
      .reading(.mappingLimitText, \.mappingLimit),
      .optional(.oomScoreAdjustment, \.oomScoreAdjustment),
      .reading(.oomScoreText, \.oomScoreAdjustment),
      .optional(.watchdogInterval, \.watchdogInterval),
      .optional(.privacy, \.privacy),
    ] + Field.within(\.cgroup, CgroupUsage.mapFields))
}

extension CgroupUsage {
  static let mapFields = MapFields(
    CgroupUsage(),
    [
      .optional(.cgroup, \.path),
      .optional(.memoryUsed, \.memoryUsed),
      .optional(.memoryLimit, \.memoryLimit),
      .optional(.tasksUsed, \.tasksUsed),
      .optional(.tasksLimit, \.tasksLimit),
    ])
}
