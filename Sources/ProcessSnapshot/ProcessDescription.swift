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

  public init() {}
}
