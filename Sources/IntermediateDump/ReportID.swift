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
    let (low, high) = (generator.next(), generator.next())
    var bytes = (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? low : high) >> (8 * ($0 & 7))) }
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
    let text = Array(description.utf8)
    guard text.count == 36 else { return nil }
    var bytes: [UInt8] = []
    var position = 0
    while position < text.count {
      if [8, 13, 18, 23].contains(position) {
        guard text[position] == UInt8(ascii: "-") else { return nil }
        position += 1
        continue
      }
      guard let high = Character(Unicode.Scalar(text[position])).hexDigitValue,
        let low = Character(Unicode.Scalar(text[position + 1])).hexDigitValue
      else { return nil }
      bytes.append(UInt8(truncatingIfNeeded: high << 4 | low))
      position += 2
    }
    self.bytes = bytes
  }

  public var description: String {
    var text: [UInt8] = []
    text.reserveCapacity(36)
    for (index, byte) in bytes.enumerated() {
      if index == 4 || index == 6 || index == 8 || index == 10 { text.append(UInt8(ascii: "-")) }
      text.append(byte.highDigit)
      text.append(byte.lowDigit)
    }
    return String(decoding: text, as: UTF8.self)
  }

  public static func < (left: ReportID, right: ReportID) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }
}
