/// A stream that the converting program adds to a minidump.
public struct UserStream: Sendable, Equatable {
  /// The stream's number in the minidump's directory.
  ///
  /// Numbers below 0x10000 belong to Microsoft. Numbers with 0x4767, 0x4350 or 0x504D in the upper half belong to
  /// Breakpad, Crashpad and this package, respectively.
  public let type: UInt32
  public let bytes: [UInt8]

  public init(type: UInt32, bytes: [UInt8]) {
    self.type = type
    self.bytes = bytes
  }

  /// The reason why a stream of this number cannot be added to a minidump; nil if it can.
  package static func refusal(of type: UInt32) -> String? {
    type < 0x1_0000 || [0x4767, 0x4350, 0x504D].contains(type >> 16)
      ? "stream numbers below 0x10000 and those of Breakpad, Crashpad and this package are taken"
      : nil
  }
}
