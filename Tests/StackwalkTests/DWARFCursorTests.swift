import Testing

@testable import Stackwalk

/// Examples of DWARF 5, figures 46 to 48 (tables 7.7 and 7.8), and the edges of 64 bits.
@Suite struct DWARFCursorTests {
  @Test(
    arguments: [
      ([0x02], 2), ([0x7F], 127), ([0x80, 0x01], 128), ([0x81, 0x01], 129), ([0xB9, 0x64], 12857),
      ([0x80, 0x80, 0x80, 0x00], 0),
      ([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], UInt64.max),
      ([0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 1),
    ] as [([UInt8], UInt64)])
  func unsigned(_ bytes: [UInt8], _ expected: UInt64) {
    var cursor = DWARFCursor(bytes)
    #expect(cursor.readULEB() == expected)
    #expect(cursor.isAtEnd)
  }

  @Test(
    arguments: [
      [], [0x80], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02],
      [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01],
    ] as [[UInt8]])
  func refusedUnsigned(_ bytes: [UInt8]) {
    var cursor = DWARFCursor(bytes)
    #expect(cursor.readULEB() == nil)
  }

  @Test(
    arguments: [
      ([0x02], 2), ([0x7E], -2), ([0xFF, 0x00], 127), ([0x81, 0x7F], -127), ([0x80, 0x01], 128),
      ([0x80, 0x7F], -128),
      ([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7F], Int64.min),
    ] as [([UInt8], Int64)])
  func signed(_ bytes: [UInt8], _ expected: Int64) {
    var cursor = DWARFCursor(bytes)
    #expect(cursor.readSLEB() == expected)
    #expect(cursor.isAtEnd)
  }

  @Test func readsNothingPastTheEnd() {
    var cursor = DWARFCursor([1, 2, 3, 4, 5], in: 1..<4)
    #expect(cursor.read(UInt32.self) == nil)
    let isSkipped = cursor.skip(4)
    #expect(!isSkipped)
    #expect(cursor.readBytes(count: .max) == nil)
    #expect(cursor.readPiece(count: 4) == nil)
    #expect(cursor.readCString() == nil)
    #expect(cursor.read(UInt16.self) == 0x0302)
    #expect(cursor.readUnsigned(width: 2) == nil)
    #expect(cursor.read(UInt8.self) == 4)
    #expect(cursor.isAtEnd)
    #expect(DWARFCursor([1, 2], in: 1..<3).isAtEnd)
  }

  @Test func lengths() {
    var short = DWARFCursor([5, 0, 0, 0])
    let first = short.readInitialLength()
    #expect(first?.length == 5 && first?.is64Bit == false)
    var long = DWARFCursor([0xFF, 0xFF, 0xFF, 0xFF, 7, 0, 0, 0, 0, 0, 0, 0])
    let second = long.readInitialLength()
    #expect(second?.length == 7 && second?.is64Bit == true)
    var reserved = DWARFCursor([0xF0, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0])
    #expect(reserved.readInitialLength() == nil)
  }

  @Test func pointers() {
    let bases = PointerEncoding.Bases(section: 0x1000, data: 0x2000, function: 0x3000)
    func read(_ encoding: UInt8, _ bytes: [UInt8]) -> UInt64? {
      var cursor = DWARFCursor([0, 0] + bytes)
      _ = cursor.skip(2)
      return cursor.readPointer(PointerEncoding(rawValue: encoding), bases: bases)
    }
    #expect(read(0x00, [1, 2, 0, 0, 0, 0, 0, 0]) == 0x201)
    // pcrel|sdata4 counts from where the pointer lies, datarel|sdata4 from the header.
    #expect(read(0x1B, [0xFE, 0xFF, 0xFF, 0xFF]) == 0x1000)
    #expect(read(0x3B, [0xFF, 0xFF, 0xFF, 0xFF]) == 0x1FFF)
    #expect(read(0x42, [8, 0]) == 0x3008)
    #expect(read(0x09, [0x7F]) == .max)
    #expect(read(0x9B, [4, 0, 0, 0]) == 0x1006)
    // Aligned: six bytes of padding.
    #expect(read(0x50, [9, 9, 9, 9, 9, 9, 7, 0, 0, 0, 0, 0, 0, 0]) == 7)
    for encoding: UInt8 in [0xFF, 0x05, 0x0F, 0x20, 0x60, 0x70] {
      #expect(read(encoding, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) == nil)
    }
    #expect(read(0x1B, [1, 2, 3]) == nil)
  }
}
