import Testing

@testable import IntermediateDump

/// Little-endian bytes and hexadecimal digits, up to the end of the bytes that contain them.
@Suite struct LittleEndianTests {
  private static let bytes: [UInt8] = [9, 1, 2, 3, 4, 5, 6, 7, 8, 9]

  @Test func readsFixedWidths() {
    let slice = Self.bytes[1..<9]
    #expect(slice.littleEndian(at: 0, as: UInt8.self) == 1)
    #expect(slice.littleEndian(at: 1, as: UInt16.self) == 0x0302)
    #expect(slice.littleEndian(at: 3, as: UInt32.self) == 0x0706_0504)
    #expect(slice.littleEndian(at: 0, as: UInt64.self) == 0x0807_0605_0403_0201)
    #expect(Self.bytes.littleEndian(at: 0, as: UInt16.self) == 0x0109)
    #expect(([0xFE, 0xFF] as [UInt8]).littleEndian(at: 0, as: Int16.self) == -2)
  }

  @Test func readsAnyWidth() {
    let slice = Self.bytes[1..<9]
    #expect(slice.littleEndian(at: 0, width: 3) == 0x03_0201)
    #expect(slice.littleEndian(at: 0, width: 8) == 0x0807_0605_0403_0201)
    #expect(slice.littleEndian(at: 8, width: 0) == 0)
    #expect(slice.littleEndian(at: 0, width: 9) == nil)
  }

  @Test(arguments: [-1, 1, 5, 8, .max, .min] as [Int])
  func readsNothingOutside(_ offset: Int) {
    let slice = Self.bytes[1..<9]
    #expect(slice.littleEndian(at: offset, as: UInt64.self) == nil)
    #expect(slice.littleEndian(at: offset, width: 8) == nil)
    #expect(([] as [UInt8]).littleEndian(at: offset, as: UInt8.self) == nil)
  }

  @Test func writesHexadecimalDigits() {
    #expect(([0, 0x0A, 0xFF] as [UInt8]).hexadecimal == "000aff")
    #expect(([] as [UInt8]).hexadecimal == "")
    #expect(UInt64.max.hexadecimal() == "ffffffffffffffff")
    #expect(UInt64(0xAB).hexadecimal(digits: 4) == "00ab" && UInt8(0).hexadecimal() == "0")
  }
}
