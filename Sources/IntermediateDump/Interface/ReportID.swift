/// The 16 bytes that identify one report everywhere, from the name of the dump's file to the server that receives the
/// report.
///
/// The handler chooses the ID when it creates the dump's file. So if a dump is converted twice because a converter was
/// killed, both conversions create a report with the same ID. The client ID of a database also has this type. A random
/// ID has the form of a version 4 UUID (RFC 9562).
public struct ReportID: Hashable, Sendable, LosslessStringConvertible, Comparable {
  // Two words take less memory than an array, and a database may have a hundred thousand IDs.
  private let high: UInt64
  private let low: UInt64

  /// The bytes of the ID, in the order in which text shows them.
  public var bytes: [UInt8] {
    [high, low].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> (56 - 8 * $0)) }
    }
  }

  private init(high: UInt64, low: UInt64, version: UInt64) {
    self.high = high & ~0xF000 | version << 12
    self.low = low & ~(3 << 62) | 2 << 62
  }

  /// Creates a random identifier.
  public init() {
    var generator = SystemRandomNumberGenerator()
    self.init(random: (generator.next(), generator.next()))
  }

  /// Creates an identifier from random words.
  package init(random words: (UInt64, UInt64)) {
    self.init(high: words.0, low: words.1, version: 4)
  }

  /// A replacement identifier for a second dump with this identifier; the same dump always gets the same replacement.
  ///
  /// The replacement has the form of a version 8 UUID (RFC 9562).
  ///
  /// - Parameter digest: the digest of the second dump.
  package func other(for digest: UInt64) -> ReportID {
    let seed = bytes + (0..<8).map { UInt8(truncatingIfNeeded: digest >> (8 * $0)) }
    // Each half of the new identifier is one digest, with the lowest byte first.
    return ReportID(
      high: DumpDigest.of([1] + seed).byteSwapped, low: DumpDigest.of([2] + seed).byteSwapped,
      version: 8)
  }

  /// Creates an identifier from 16 bytes; nil for any other number of bytes.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    func word(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    high = word(bytes.prefix(8))
    low = word(bytes.dropFirst(8))
  }

  /// Creates an identifier from the 16 bytes at an offset; nil if there are fewer bytes.
  package init?(_ bytes: ArraySlice<UInt8>, at offset: Int) {
    guard let high = bytes.littleEndian(at: offset, as: UInt64.self),
      let low = bytes.littleEndian(at: offset + 8, as: UInt64.self)
    else { return nil }
    (self.high, self.low) = (high.byteSwapped, low.byteSwapped)
  }

  /// Reads the usual form `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, in uppercase or lowercase; nil for anything else.
  public init?(_ description: String) {
    let text = description.utf8
    guard text.count == 36 else { return nil }
    var (high, low): (UInt64, UInt64) = (0, 0)
    for (position, byte) in text.enumerated() {
      if position == 8 || position == 13 || position == 18 || position == 23 {
        guard byte == UInt8(ascii: "-") else { return nil }
        continue
      }
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte & 0x0F
      case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"):
        digit = byte & 0x0F &+ 9
      default: return nil
      }
      if position < 18 { high = high << 4 | UInt64(digit) } else { low = low << 4 | UInt64(digit) }
    }
    (self.high, self.low) = (high, low)
  }

  public var description: String {
    unsafe String(unsafeUninitializedCapacity: 36) { text in
      var position = 0
      for word in [high, low] {
        for shift in stride(from: UInt64(60), through: 0, by: -4) {
          if position == 8 || position == 13 || position == 18 || position == 23 {
            unsafe text[position] = UInt8(ascii: "-")
            position += 1
          }
          let digit = UInt8(truncatingIfNeeded: word >> shift & 0x0F)
          unsafe text[position] = digit < 10 ? 0x30 + digit : 0x57 + digit
          position += 1
        }
      }
      return position
    }
  }

  public static func < (left: ReportID, right: ReportID) -> Bool {
    (left.high, left.low) < (right.high, right.low)
  }
}
