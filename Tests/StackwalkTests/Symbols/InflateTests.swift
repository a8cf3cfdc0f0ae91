import Testing

@testable import Stackwalk

@Suite struct InflateTests {
  /// The output of zlib 1.3 at level 9 for "hello " repeated twenty times: one block with the fixed codes.
  static let hellos: [UInt8] = [
    0x78, 0xDA, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x57, 0xC8, 0xA0, 0x3B, 0x09, 0x00, 0x77, 0xBA, 0x2C,
    0x11,
  ]
  static let text = Array(String(repeating: "hello ", count: 20).utf8)

  @Test func fixedCodes() {
    #expect(Inflate.expand(Self.hellos, from: 0, size: Self.text.count) == Self.text)
  }

  @Test func storedBlocks() {
    // Two blocks of raw bytes, written by hand: after 0x78 0x01, "abc" and then, as the last block, "de".
    let stream: [UInt8] =
      [0x78, 0x01, 0, 3, 0, 0xFC, 0xFF] + Array("abc".utf8) + [1, 2, 0, 0xFD, 0xFF]
      + Array("de".utf8) + [0x05, 0xC8, 0x01, 0xF0]
    #expect(Inflate.expand(stream, from: 0, size: 5) == Array("abcde".utf8))
  }

  @Test func refusesAnotherSize() {
    #expect(Inflate.expand(Self.hellos, from: 0, size: Self.text.count - 1) == nil)
    #expect(Inflate.expand(Self.hellos, from: 0, size: Self.text.count + 1) == nil)
  }

  @Test func refusesDamage() {
    for cut in 0..<Self.hellos.count {
      #expect(Inflate.expand(Array(Self.hellos[..<cut]), from: 0, size: Self.text.count) == nil)
    }
    for bit in 0..<Self.hellos.count * 8 {
      var bytes = Self.hellos
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let result = Inflate.expand(bytes, from: 0, size: Self.text.count)
      // The compression level in the header does not affect the contents.
      #expect(result == nil || result == Self.text)
    }
  }

  @Test func refusesCodesThatAreTooMany() {
    #expect(HuffmanCode(lengths: [1, 1, 1]) == nil)
    #expect(HuffmanCode(lengths: [1, 2, 2]) != nil)
  }

  @Test func checksumOfV42() {
    var checksum = CRC32()
    checksum.add(Array("12345".utf8))
    checksum.add(Array("6789".utf8))
    #expect(checksum.value == 0xCBF4_3926)
  }
}
