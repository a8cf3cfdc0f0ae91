/// The 16 bytes that identify one report from the locked file's name to the server that receives
/// it.
///
/// Chosen when the locked file is made, so that a dump converted twice (a converter killed in
/// between) still is one report. Also used for client IDs. RFC 9562, version 4.
public struct ReportID: Hashable, Sendable, LosslessStringConvertible, Comparable {
  /// The bytes in the order in which they are printed.
  public let bytes: [UInt8]

  /// Makes a random identifier.
  public init() {
    var generator = SystemRandomNumberGenerator()
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    self.bytes = bytes
  }

  /// Makes the identifier of another dump that lies under this one's: always the same for the same
  /// dump.
  ///
  /// RFC 9562, version 8.
  ///
  /// - Parameter digest: the dump's.
  package func other(for digest: UInt64) -> ReportID {
    let seed = bytes + (0..<8).map { UInt8(truncatingIfNeeded: digest >> (8 * $0)) }
    let halves = [DumpDigest.of([1] + seed), DumpDigest.of([2] + seed)]
    var bytes = halves.flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * $0)) }
    }
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    return ReportID(bytes: bytes) ?? self
  }

  /// Takes 16 bytes; nil for any other count.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    self.bytes = Array(bytes)
  }

  /// Reads the usual form `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, in either case; nil for anything
  /// else.
  public init?(_ description: String) {
    let parts = description.utf8.split(
      separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard parts.map(\.count) == [8, 4, 4, 4, 12], let bytes = [UInt8](hexadecimal: parts.joined())
    else { return nil }
    self.bytes = bytes
  }

  public var description: String {
    [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
      .map(\.hexadecimal).joined(separator: "-")
  }

  public static func < (left: ReportID, right: ReportID) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}
