internal import ProcessSnapshot

extension CrashReport {
  /// Captured bytes near what matters of the crash.
  public struct Memory: Codable, Sendable, Equatable {
    /// "fault" for the faulting address, "instructions", "stack" for the top of the crashing
    /// thread's, else the register that points there.
    public var about: String
    /// What it is about; within `bytes`.
    public var target: HexAddress
    /// Where `bytes` begin.
    public var address: HexAddress
    /// In hexadecimal, two digits a byte.
    public var bytes: String

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(about, forKey: .about)
      try container.encode(target, forKey: .target)
      try container.encode(address, forKey: .address)
      try container.encode(bytes, forKey: .bytes)
    }
  }

  /// One mapping of the address space.
  public struct Mapping: Codable, Sendable, Equatable {
    public var start: HexAddress
    /// One past the last address.
    public var end: HexAddress
    /// Such as "r-x".
    public var protection: String
    /// A file, or a name in brackets such as "[heap]"; null for anonymous memory.
    public var path: String?

    var range: AddressRange { AddressRange(from: start.address, to: end.address) }

    /// Writes every key, null for what is not known.
    public func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(start, forKey: .start)
      try container.encode(end, forKey: .end)
      try container.encode(protection, forKey: .protection)
      try container.encode(path, forKey: .path)
    }
  }
}
