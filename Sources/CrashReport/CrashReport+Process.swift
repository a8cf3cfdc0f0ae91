extension CrashReport {
  /// Who crashed, and when.
  public struct Process: Codable, Sendable, Equatable {
    public var pid: UInt32?
    /// The parent's process ID.
    public var parent: UInt32?
    /// The path of the executable.
    public var executable: String?
    public var product: String?
    public var version: String?
    /// Free text of the program's own, such as "production".
    public var environment: String?
    /// When the handler was started.
    public var launchTime: Timestamp?
    public var crashTime: Timestamp?
    /// The program's name and arguments; the last may be cut.
    public var arguments: [String]?
    /// Nanoseconds from the handler's start to the crash, by a clock that nobody sets.
    public var uptime: UInt64?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(pid, forKey: .pid)
      try container.encode(parent, forKey: .parent)
      try container.encode(executable, forKey: .executable)
      try container.encode(product, forKey: .product)
      try container.encode(version, forKey: .version)
      try container.encode(environment, forKey: .environment)
      try container.encode(launchTime, forKey: .launchTime)
      try container.encode(crashTime, forKey: .crashTime)
      try container.encode(arguments, forKey: .arguments)
      try container.encode(uptime, forKey: .uptime)
    }
  }
}

extension CrashReport {
  /// What it ran on.
  public struct System: Codable, Sendable, Equatable {
    /// "x86_64" or "arm64".
    public var architecture: String
    public var kernelName: String?
    public var kernelRelease: String?
    public var kernelVersion: String?
    public var machine: String?
    public var distribution: String?
    /// The C library and its version.
    public var libraryVersion: String?
    public var processorCount: UInt32?
    /// In bytes.
    public var pageSize: UInt64?
    public var bootID: String?
    /// As the processor names itself.
    public var processorModel: String?
    /// The C compiler of the toolchain that built the handler.
    public var compiler: String?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(architecture, forKey: .architecture)
      try container.encode(kernelName, forKey: .kernelName)
      try container.encode(kernelRelease, forKey: .kernelRelease)
      try container.encode(kernelVersion, forKey: .kernelVersion)
      try container.encode(machine, forKey: .machine)
      try container.encode(distribution, forKey: .distribution)
      try container.encode(libraryVersion, forKey: .libraryVersion)
      try container.encode(processorCount, forKey: .processorCount)
      try container.encode(pageSize, forKey: .pageSize)
      try container.encode(bootID, forKey: .bootID)
      try container.encode(processorModel, forKey: .processorModel)
      try container.encode(compiler, forKey: .compiler)
    }
  }
}
