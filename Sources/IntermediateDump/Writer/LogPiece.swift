/// The format of a piece of a dump in one line of a log.
///
/// The line consists of letters, digits, `-` and `_`, which no program that handles logs escapes:
///
/// | letters | contents |
/// |---|---|
/// | 15 | `postmortem-log-` |
/// | 2 | the format's version, 1, and the architecture: `x` for x86_64, `a` for arm64 |
/// | 17 | `-`, and the first 16 hexadecimal digits of the report ID |
/// | 5 | `-`, the piece's number from 1, `of`, and the number of pieces |
/// | 4 | `-`, and the number of letters of the payload in three decimal digits |
/// | 3 to 797 | `-`, and the payload in base64url without padding: the next bytes of the dump's tokens |
/// | 9 | `-`, and the 32-bit FNV-1a hash of all letters before, in hexadecimal digits |
///
/// RUNS-DURING-CRASH. Source: RFC 4648, section 5 (base64url); RFC 9923 (FNV).
package enum LogPiece {
  package static var mark: StaticString { @_noLocks get { "postmortem-log-" } }
  /// The letters before the report ID.
  package static var beginning: StaticString {
    @_noLocks get {
      IntermediateDumpFormat.currentArchitecture == 2 ? "postmortem-log-1a-" : "postmortem-log-1x-"
    }
  }
  /// The letters of base64url.
  package static var letters: StaticString {
    @_noLocks get { "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" }
  }
  /// The number of digits of the report ID.
  package static var idLength: Int { @_noLocks get { 16 } }
  /// The maximum number of pieces of a dump.
  package static var maximumCount: Int { @_noLocks get { 6 } }
  /// The maximum number of bytes of a payload.
  package static var payloadSize: Int { @_noLocks get { 597 } }
  /// The maximum number of bytes of a dump's tokens.
  package static var dumpSize: Int { @_noLocks get { maximumCount &* payloadSize } }
  /// The maximum number of bytes of a piece's line, including the line feed.
  package static var lineSize: Int { @_noLocks get { 850 } }

  @_noLocks
  package static func checksum(of bytes: UnsafeRawPointer, count: Int) -> UInt32 {
    var (checksum, index): (UInt32, Int) = (0x811C_9DC5, 0)
    while index < count {
      checksum ^= UInt32(unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt8.self))
      checksum &*= 0x0100_0193
      index &+= 1
    }
    return checksum
  }
}
