/// Tells two dumps of one report ID apart: the 64-bit FNV-1a of a dump's bytes.
///
/// Against accidents, not against those who make dumps on purpose: these may write to the database.
///
/// Source: RFC 9923, "The FNV Non-Cryptographic Hash Algorithm".
package struct DumpDigest {
  /// Of the bytes so far.
  package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  package init() {}

  package mutating func add(_ bytes: ArraySlice<UInt8>) {
    unsafe bytes.withUnsafeBytes { bytes in
      var hash = value
      // Not an iterator: a debug build takes a second for each 10 MB with one.
      var index = 0
      while index < bytes.count {
        hash = unsafe (hash ^ UInt64(bytes[index])) &* 0x100_0000_01B3
        index &+= 1
      }
      value = hash
    }
  }

  package static func of(_ bytes: [UInt8]) -> UInt64 { of(bytes[...]) }

  package static func of(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    var digest = DumpDigest()
    digest.add(bytes)
    return digest.value
  }
}
