extension CrashReport {
  /// What the process used of what it may use.
  public struct Resources: Codable, Sendable, Equatable {
    /// A count or a size, and its limit; null for what is not known, the limit also where there is
    /// none.
    public struct Usage: Codable, Sendable, Equatable {
      public var used: UInt64?
      public var limit: UInt64?

      /// Writes every key, null for what is not known.
      public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(used, forKey: .used)
        try container.encode(limit, forKey: .limit)
      }
    }

    /// File descriptors; the limit is the soft one of RLIMIT_NOFILE.
    public var openFiles: Usage
    /// Memory mappings; the limit is `vm.max_map_count`.
    public var mappings: Usage
    /// Threads of the process when it crashed.
    public var threads: UInt64?
    /// The control group's path.
    public var controlGroup: String?
    /// Memory of the control group, in bytes.
    public var controlGroupMemory: Usage
    /// Threads and processes of the control group.
    public var controlGroupTasks: Usage
    /// The soft limit of RLIMIT_STACK in bytes; null for none.
    public var stackLimit: UInt64?
    /// The soft limit of RLIMIT_AS in bytes; null for none.
    public var addressSpaceLimit: UInt64?
    /// Bytes of address space in use at the crash.
    public var addressSpaceUsed: UInt64?
    /// The soft limit of RLIMIT_NPROC, which counts all processes of the user; null for none.
    public var taskLimit: UInt64?
    /// The machine's load over 1, 5 and 15 minutes.
    public var loadAverage: [Double]?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(openFiles, forKey: .openFiles)
      try container.encode(mappings, forKey: .mappings)
      try container.encode(threads, forKey: .threads)
      try container.encode(controlGroup, forKey: .controlGroup)
      try container.encode(controlGroupMemory, forKey: .controlGroupMemory)
      try container.encode(controlGroupTasks, forKey: .controlGroupTasks)
      try container.encode(stackLimit, forKey: .stackLimit)
      try container.encode(addressSpaceLimit, forKey: .addressSpaceLimit)
      try container.encode(addressSpaceUsed, forKey: .addressSpaceUsed)
      try container.encode(taskLimit, forKey: .taskLimit)
      try container.encode(loadAverage, forKey: .loadAverage)
    }
  }
}
