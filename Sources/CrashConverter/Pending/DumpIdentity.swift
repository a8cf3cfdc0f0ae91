internal import IntermediateDump

/// Distinguishes two dumps with the same report ID.
///
/// This identity protects against accidents, but not against users who craft dumps, because these users can write to
/// the database anyway.
struct DumpIdentity {
  private let bytes: DumpBytes
  /// A digest of all bytes.
  ///
  /// The digest is computed over eight bytes at a time, which makes reading a large dump twice as fast.
  let digest: UInt64

  init(of bytes: DumpBytes) {
    self.bytes = bytes
    var digest = WordDigest()
    _ = bytes.forEachSlice(of: 0..<bytes.count) { digest.add($0) }
    self.digest = digest.value
  }

  /// True if `known`, the digest in a report, is the digest of this dump.
  func matches(_ known: UInt64?) -> Bool { known == digest }

  /// The FNV-1a digest of the dump, byte by byte.
  ///
  /// If two dumps have the same report ID, the second dump gets a new ID that is made from this digest. All released
  /// versions of the package must compute the same digest, so that they make the same ID.
  var byteDigest: UInt64 {
    var digest = DumpDigest()
    _ = bytes.forEachSlice(of: 0..<bytes.count) { digest.add($0) }
    return digest.value
  }
}

/// FNV-1a over words of eight bytes; a shift mixes the upper bits of each product into the lower ones.
private struct WordDigest {
  private var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  private var count: UInt64 = 0

  /// - Parameter bytes: the next bytes; their number is a multiple of eight, except in the last call.
  mutating func add(_ bytes: ArraySlice<UInt8>) {
    unsafe bytes.withUnsafeBytes { bytes in
      var hash = hash
      let wordsEnd = bytes.count & ~7
      var index = 0
      while index < wordsEnd {
        let word = unsafe bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        hash = Self.step(hash, UInt64(littleEndian: word))
        index &+= 8
      }
      while index < bytes.count {
        hash = unsafe Self.step(hash, UInt64(bytes[index]))
        index &+= 1
      }
      self.hash = hash
    }
    count &+= UInt64(bytes.count)
  }

  var value: UInt64 { Self.step(hash, count) }

  private static func step(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word) &* 0x100_0000_01B3
    return product ^ product >> 32
  }
}
