/// Tells two dumps of one report ID apart: the 64-bit FNV-1a of a dump's bytes.
///
/// Against accidents, not against those who make dumps on purpose: these may write to the database.
///
/// Source: RFC 9923, "The FNV Non-Cryptographic Hash Algorithm".
package enum DumpDigest {
  package static func of(_ bytes: [UInt8]) -> UInt64 {
    unsafe bytes.withUnsafeBytes { bytes in
      var hash: UInt64 = 0xCBF2_9CE4_8422_2325
      // Not an iterator: a debug build takes a second for each 10 MB with one.
      var index = 0
      while index < bytes.count {
        hash = unsafe (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
        index &+= 1
      }
      return hash
    }
  }
}
