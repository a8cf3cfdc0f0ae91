extension CrashReport {
  /// One loaded image.
  public struct Module: Codable, Sendable, Equatable {
    public var path: String
    public var base: HexAddress
    /// In bytes.
    public var size: UInt64
    /// The GNU build ID in hexadecimal.
    public var buildID: String?
    /// True if the file had been deleted or replaced when the process crashed.
    public var deleted: Bool
    /// Why its frames have no names or uncertain ones.
    public var symbolNote: String?
    /// What the module said of itself, by name.
    public var annotations: [String: String]?
    /// What it said without names.
    public var messages: [String]?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(path, forKey: .path)
      try container.encode(base, forKey: .base)
      try container.encode(size, forKey: .size)
      try container.encode(buildID, forKey: .buildID)
      try container.encode(deleted, forKey: .deleted)
      try container.encode(symbolNote, forKey: .symbolNote)
      try container.encode(annotations, forKey: .annotations)
      try container.encode(messages, forKey: .messages)
    }
  }
}

extension CrashReport {
  /// How much of the process the handler got.
  public struct Capture: Codable, Sendable, Equatable {
    /// Where and why a torn dump stopped being readable.
    public var damage: String?
    public var threadsFound: UInt64?
    public var threadsStopped: UInt64?
    public var threadsReadFromKernel: UInt64?
    public var threadsOmitted: UInt64?
    /// Bit n stands for section n of the dump, left because the handler itself faulted there.
    public var sectionsAbandoned: HexAddress?
    /// Nanoseconds from the handler's entry to the dump's end mark.
    public var captureTime: UInt64?
    /// Bytes that a cap left out.
    public var bytesOmitted: UInt64?
    /// Threads that the minidump's list has no room for.
    public var threadsUnlisted: UInt64?
    /// Modules that the minidump's list has no room for.
    public var modulesUnlisted: UInt64?
    /// Memory regions that the minidump's list has no room for.
    public var regionsUnlisted: UInt64?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(damage, forKey: .damage)
      try container.encode(threadsFound, forKey: .threadsFound)
      try container.encode(threadsStopped, forKey: .threadsStopped)
      try container.encode(threadsReadFromKernel, forKey: .threadsReadFromKernel)
      try container.encode(threadsOmitted, forKey: .threadsOmitted)
      try container.encode(sectionsAbandoned, forKey: .sectionsAbandoned)
      try container.encode(captureTime, forKey: .captureTime)
      try container.encode(bytesOmitted, forKey: .bytesOmitted)
      try container.encode(threadsUnlisted, forKey: .threadsUnlisted)
      try container.encode(modulesUnlisted, forKey: .modulesUnlisted)
      try container.encode(regionsUnlisted, forKey: .regionsUnlisted)
    }
  }
}
