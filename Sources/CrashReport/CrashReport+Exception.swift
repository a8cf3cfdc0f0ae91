extension CrashReport {
  /// Why the process ended.
  public struct Exception: Codable, Sendable, Equatable {
    /// The kernel's ID of the thread that took the signal.
    public var threadID: UInt32
    /// The signal's number.
    public var signal: Int32?
    /// Such as "SIGSEGV".
    public var signalName: String?
    /// `si_code`.
    public var code: Int32?
    /// Such as "SEGV_MAPERR".
    public var codeName: String?
    /// `si_addr` of a fault; null for a signal that was sent.
    public var address: HexAddress?
    /// "read", "write" or "execute", where the processor said.
    public var access: String?
    /// Who sent the signal; null for a fault.
    public var sender: Sender?
    /// The system call that a SIGSYS is about.
    public var systemCall: SystemCall?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(threadID, forKey: .threadID)
      try container.encode(signal, forKey: .signal)
      try container.encode(signalName, forKey: .signalName)
      try container.encode(code, forKey: .code)
      try container.encode(codeName, forKey: .codeName)
      try container.encode(address, forKey: .address)
      try container.encode(access, forKey: .access)
      try container.encode(sender, forKey: .sender)
      try container.encode(systemCall, forKey: .systemCall)
    }
  }
}

extension CrashReport {
  /// The process that sent a signal, as the kernel recorded it.
  public struct Sender: Codable, Sendable, Equatable {
    public var pid: Int32
    public var uid: UInt32
    /// Its name when the signal was handled; null where it was gone, or could not be seen.
    public var name: String?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(pid, forKey: .pid)
      try container.encode(uid, forKey: .uid)
      try container.encode(name, forKey: .name)
    }
  }
}

extension CrashReport {
  /// A system call.
  public struct SystemCall: Codable, Sendable, Equatable {
    public var number: Int
    /// Its name on x86_64; null for a number that is not known, and on other architectures.
    public var name: String?

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(number, forKey: .number)
      try container.encode(name, forKey: .name)
    }
  }
}
