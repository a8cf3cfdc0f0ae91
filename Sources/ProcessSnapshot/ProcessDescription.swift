/// Who crashed, and when.
public struct ProcessDescription: Sendable, Equatable {
  public var processID: UInt32?
  public var parentProcessID: UInt32?
  /// The path of the executable as the kernel named it at launch.
  public var executablePath: String?
  /// The identifier that the program's dumps are named with.
  public var identifier: String?
  public var product: String?
  public var version: String?
  /// Free text such as "production".
  public var environment: String?
  /// Nanoseconds since 1970, when the handler was started.
  public var launchTime: Int64?
  /// Nanoseconds since 1970.
  public var crashTime: Int64?
  /// Nanoseconds from boot to when the handler was started, time asleep included.
  public var launchUptime: UInt64?
  /// Nanoseconds from boot to the crash, time asleep included.
  public var crashUptime: UInt64?
  /// Nanoseconds of CPU time in user mode, all threads.
  public var userTime: UInt64?
  /// Nanoseconds of CPU time in the kernel, all threads.
  public var systemTime: UInt64?
  /// The text of `/proc/self/status` at the crash.
  public var statusText: [UInt8]?
  /// The text of `/proc/self/maps` at the crash.
  public var mapsText: [UInt8]?
  /// The kernel's auxiliary vector, as in `/proc/self/auxv`.
  public var auxiliaryVector: [UInt8]?
  /// `/proc/self/cmdline` at launch, each argument ended by NUL; nil where the program keeps it to
  /// itself.
  public var commandLine: [UInt8]?
  /// The text of `/proc/self/limits` at the crash.
  public var limitsText: [UInt8]?
  /// File descriptors that were open at the crash, the handler's among them.
  public var descriptorCount: UInt32?
  /// Lines of `/proc/self/maps` at the crash.
  public var mappingCount: UInt32?
  /// `/proc/sys/vm/max_map_count` at launch.
  public var mappingLimit: UInt64?
  public var controlGroup = ControlGroupUsage()
  /// Nanoseconds after which the service manager takes the process for hung; nil where it does not.
  public var watchdogInterval: UInt64?

  public init() {}

  /// The arguments, the program's name first; nil where they are not known.
  ///
  /// The last one may be cut, for the handler keeps 4 KiB at most.
  public var arguments: [String]? {
    guard var rest = commandLine?[...] else { return nil }
    if rest.last == 0 { rest = rest.dropLast() } else if rest.isEmpty { return [] }
    return rest.split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  /// The limits in `limitsText`; nil without it.
  public var limits: ResourceLimits? {
    limitsText.map { ResourceLimits(parsing: $0[...]) }
  }

  /// Bytes of address space in use, of `statusText`; nil without it.
  ///
  /// Source: proc_pid_status(5), VmSize.
  public var addressSpaceSize: UInt64? {
    let label = Array("VmSize:".utf8)
    let line = statusText?.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: label) }
    let words = line?.dropFirst(label.count).split { $0 == 0x20 || $0 == 0x09 }
    guard let first = words?.first, let size = UInt64(String(decoding: first, as: UTF8.self))
    else { return nil }
    return size <= UInt64.max >> 10 ? size << 10 : nil
  }

  /// Nanoseconds from the handler's start to the crash by a clock that nobody sets.
  public var uptime: UInt64? {
    guard let launchUptime, let crashUptime, crashUptime >= launchUptime else { return nil }
    return crashUptime &- launchUptime
  }
}
