/// The 64-bit FNV-1a hash of a dump's bytes, which distinguishes two dumps with the same report ID.
///
/// The hash only protects against accidents. A user who could craft a collision can write to the database anyway.
///
/// Source: RFC 9923, "The FNV Non-Cryptographic Hash Algorithm"; `ofWords` hashes words instead of bytes.
package struct DumpDigest {
  /// The digest of all bytes added so far.
  package private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  private static let prime: UInt64 = 0x100_0000_01B3

  package init() {}

  package mutating func add(_ bytes: ArraySlice<UInt8>) {
    unsafe bytes.withUnsafeBytes { bytes in
      var hash = value
      // This loop uses no iterator, because in a debug build an iterator takes a second for each 10 MB.
      var index = 0
      while index < bytes.count {
        hash = unsafe (hash ^ UInt64(bytes[index])) &* Self.prime
        index &+= 1
      }
      value = hash
    }
  }

  /// Hashes 8-byte words, and then the bytes after the last whole word one at a time.
  ///
  /// Hashing words is eight times as fast as hashing bytes.
  ///
  /// Each step maps different words to different results, so a change within one word is always detected.
  package static func ofWords(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    unsafe bytes.withUnsafeBytes { bytes in
      var hash = DumpDigest().value
      var index = 0
      while index &+ 8 <= bytes.count {
        let word = unsafe UInt64(
          littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        hash = (hash ^ word) &* prime
        index &+= 8
      }
      while index < bytes.count {
        hash = unsafe (hash ^ UInt64(bytes[index])) &* prime
        index &+= 1
      }
      return hash
    }
  }

  package static func of(_ bytes: [UInt8]) -> UInt64 { of(bytes[...]) }

  package static func of(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    var digest = DumpDigest()
    digest.add(bytes)
    return digest.value
  }
}
