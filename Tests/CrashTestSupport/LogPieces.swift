/// Encodes the pieces of a dump that a crash prints, independently of the package's own code.
///
/// Source: Docs/Internals/CrashSummary.md.
public enum LogPieces {
  /// The lines of pieces, without line feeds.
  ///
  /// - Parameters:
  ///   - payloads: the tokens of each piece.
  ///   - reportID: the 16 bytes of the report ID.
  public static func lines(
    of payloads: [[UInt8]], reportID: [UInt8], architecture: Character = "x"
  ) -> [String] {
    let digits = reportID.prefix(8).map { hexadecimal(UInt32($0), 2) }.joined()
    return payloads.enumerated().map { index, payload in
      let letters = base64(payload)
      let length = String(repeating: "0", count: 3 - "\(letters.count)".count) + "\(letters.count)"
      let text =
        "postmortem-log-1\(architecture)-\(digits)-\(index + 1)of\(payloads.count)-\(length)-\(letters)"
      return text + "-" + hexadecimal(checksum(Array(text.utf8)), 8)
    }
  }

  private static func hexadecimal(_ value: UInt32, _ digits: Int) -> String {
    let text = String(value, radix: 16)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }

  private static func base64(_ bytes: [UInt8]) -> String {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    let bits = bytes.flatMap { byte in (0..<8).reversed().map { byte >> UInt8($0) & 1 } }
    return String(
      stride(from: 0, to: bits.count, by: 6).map { start in
        let sextet = (0..<6).map { start + $0 < bits.count ? Int(bits[start + $0]) : 0 }
        return letters[sextet.reduce(0) { $0 * 2 + $1 }]
      })
  }

  /// The 32-bit FNV-1a hash.
  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    bytes.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
  }
}
