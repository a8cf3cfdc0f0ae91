import Testing

@testable import Stackwalk

/// The examples in DWARF 5, figures 46 to 48 (tables 7.7 and 7.8), and the limits of 64 bits.
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
    #expect(first?.length == 5 && first?.offsetSize == 4)
    var long = DWARFCursor([0xFF, 0xFF, 0xFF, 0xFF, 7, 0, 0, 0, 0, 0, 0, 0])
    let second = long.readInitialLength()
    #expect(second?.length == 7 && second?.offsetSize == 8)
    var reserved = DWARFCursor([0xF0, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0])
    #expect(reserved.readInitialLength() == nil)
  }

  @Test func pointers() {
    func read(_ encoding: UInt8, _ bytes: [UInt8]) -> UInt64? {
      var cursor = DWARFCursor([0, 0] + bytes)
      _ = cursor.skip(2)
      return cursor.readPointer(
        PointerEncoding(rawValue: encoding), section: 0x1000, data: 0x2000, function: 0x3000)
    }
    #expect(read(0x00, [1, 2, 0, 0, 0, 0, 0, 0]) == 0x201)
    // pcrel|sdata4 is relative to the pointer's own address, datarel|sdata4 to the header.
    #expect(read(0x1B, [0xFE, 0xFF, 0xFF, 0xFF]) == 0x1000)
    #expect(read(0x3B, [0xFF, 0xFF, 0xFF, 0xFF]) == 0x1FFF)
    #expect(read(0x42, [8, 0]) == 0x3008)
    #expect(read(0x09, [0x7F]) == .max)
    #expect(read(0x9B, [4, 0, 0, 0]) == 0x1006)
    // An aligned pointer: six bytes of padding come first.
    #expect(read(0x50, [9, 9, 9, 9, 9, 9, 7, 0, 0, 0, 0, 0, 0, 0]) == 7)
    for encoding: UInt8 in [0xFF, 0x05, 0x0F, 0x20, 0x60, 0x70] {
      #expect(read(encoding, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]) == nil)
    }
    #expect(read(0x1B, [1, 2, 3]) == nil)
  }
}

/// Expressions written by hand according to DWARF 5, 2.5.1 and 7.7.1.
@Suite struct DWARFExpressionTests {
  private struct Context: ExpressionContext {
    var counter: UInt64?
    let loadBias: UInt64 = 0x10_0000

    func register(_ number: UInt64) -> UInt64? {
      switch number {
      case 6: 0x1000
      case 7: 0x2000
      default: number == 16 ? counter : nil
      }
    }

    func memory(at address: UInt64, width: Int) -> UInt64? {
      guard address == 0x1008 else { return nil }
      return 0x1122_3344_5566_7788 & (width == 8 ? .max : (1 << (8 * UInt64(width))) - 1)
    }

    func spend() -> Bool { true }
  }

  private func evaluate(_ bytes: [UInt8], initial: [UInt64] = []) -> UInt64? {
    DWARFExpression.evaluate(bytes[...], initial: initial, in: Context())
  }

  static let constants: [([UInt8], UInt64)] = [
    ([0x30], 0), ([0x4F], 31), ([0x08, 0xFF], 255), ([0x09, 0xFF], .max), ([0x0A, 1, 2], 0x201),
    ([0x0B, 0xFE, 0xFF], .max - 1), ([0x0C, 1, 0, 0, 0x80], 0x8000_0001),
    ([0x0D, 1, 0, 0, 0x80], 0xFFFF_FFFF_8000_0001),
    ([0x0E, 1, 0, 0, 0, 0, 0, 0, 0x80], 1 << 63 | 1), ([0x10, 0x80, 1], 128), ([0x11, 0x7F], .max),
    ([0x03, 1, 0, 0, 0, 0, 0, 0, 0], 0x10_0001),
  ]

  static let stackOperations: [([UInt8], UInt64)] = [
    // dup, drop, over, pick, swap, rot
    ([0x32, 0x12, 0x22], 4), ([0x32, 0x33, 0x13], 2), ([0x32, 0x33, 0x14], 2),
    ([0x32, 0x33, 0x34, 0x15, 2], 2), ([0x35, 0x33, 0x16, 0x1C], .max - 1),
    ([0x31, 0x32, 0x33, 0x17, 0x13], 1), ([0x31, 0x32, 0x33, 0x17], 2),
  ]

  static let arithmetic: [([UInt8], UInt64)] = [
    // and, div, minus, mod, mul, or, plus, shl, shr, shra, xor
    ([0x3C, 0x3A, 0x1A], 8), ([0x09, 0xF8, 0x32, 0x1B], .max - 3), ([0x35, 0x33, 0x1C], 2),
    ([0x39, 0x34, 0x1D], 1), ([0x35, 0x33, 0x1E], 15), ([0x3C, 0x33, 0x21], 15),
    ([0x35, 0x33, 0x22], 8), ([0x31, 0x34, 0x24], 16), ([0x31, 0x08, 64, 0x24], 0),
    ([0x09, 0xFF, 0x08, 60, 0x25], 15), ([0x09, 0xF0, 0x32, 0x26], .max - 3),
    ([0x09, 0xF0, 0x08, 200, 0x26], .max), ([0x3C, 0x3A, 0x27], 6),
    // The quotient of the lowest number and -1 does not fit.
    ([0x0E, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xFF, 0x1B], 1 << 63),
    // abs, neg, not, plus_uconst
    ([0x09, 0xFE, 0x19], 2), ([0x32, 0x1F], .max - 1), ([0x30, 0x20], .max),
    ([0x32, 0x23, 0x80, 1], 130),
    // eq, ge, gt, le, lt, ne of -1 and 1
    ([0x09, 0xFF, 0x31, 0x29], 0), ([0x09, 0xFF, 0x31, 0x2A], 0), ([0x09, 0xFF, 0x31, 0x2B], 0),
    ([0x09, 0xFF, 0x31, 0x2C], 1), ([0x09, 0xFF, 0x31, 0x2D], 1), ([0x09, 0xFF, 0x31, 0x2E], 1),
  ]

  static let others: [([UInt8], UInt64)] = [
    // breg6 + 8, bregx 7 - 16, deref, deref_size 2, nop
    ([0x76, 8], 0x1008), ([0x92, 7, 0x70], 0x1FF0), ([0x76, 8, 0x06], 0x1122_3344_5566_7788),
    ([0x76, 8, 0x94, 2], 0x7788), ([0x96, 0x35, 0x96], 5),
    // A skip over a literal, a branch that is taken, one that is not, and a loop that counts to 3.
    ([0x31, 0x2F, 1, 0, 0x35], 1), ([0x37, 0x31, 0x28, 1, 0, 0x35], 7),
    ([0x37, 0x30, 0x28, 1, 0, 0x35], 5), ([0x30, 0x23, 1, 0x12, 0x33, 0x2D, 0x28, 0xF8, 0xFF], 3),
  ]

  @Test(arguments: constants + stackOperations + arithmetic + others)
  func value(_ bytes: [UInt8], _ expected: UInt64) {
    #expect(evaluate(bytes) == expected)
  }

  /// The rule that linkers write for the procedure linkage table: CFA = rsp + 8, and 8 more after the push that
  /// ends at byte 11 of a 16-byte entry.
  @Test(arguments: [(0x40_1020, 0x2008), (0x40_102A, 0x2008), (0x40_102B, 0x2010)])
  func linkageTable(_ counter: UInt64, _ cfa: UInt64) {
    let bytes: [UInt8] = [0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x3B, 0x2A, 0x33, 0x24, 0x22]
    let value = DWARFExpression.evaluate(
      bytes[...], initial: [], in: Context(counter: counter))
    #expect(value == cfa)
  }

  @Test func startsWithTheFrameAddress() {
    #expect(evaluate([0x38, 0x1C], initial: [0x100]) == 0xF8)
    #expect(evaluate([], initial: [7]) == 7)
  }

  @Test(
    arguments: [
      [], [0x12], [0x13], [0x14], [0x15, 0], [0x16], [0x31, 0x32, 0x17], [0x31, 0x22], [0x06],
      [0x31, 0x30, 0x1B], [0x31, 0x30, 0x1D], [0x50], [0x70, 0], [0x92, 99, 0], [0x30, 0x06],
      [0x76, 8, 0x94, 9], [0x76, 8, 0x94, 0], [0x08], [0x0E, 1], [0xFF], [0x9C], [0xE0],
      // Branches out of the expression, and two infinite loops.
      [0x2F, 1, 0], [0x2F, 0xF0, 0xFF], [0x2F, 0xFD, 0xFF], [0x31, 0x2F, 0xFC, 0xFF],
    ] as [[UInt8]])
  func refused(_ bytes: [UInt8]) {
    #expect(evaluate(bytes) == nil)
  }

  @Test func endsOnAnyBytes() {
    var generator = FixedGenerator(seed: 3)
    for _ in 0..<2_000 {
      let count = Int.random(in: 0..<40, using: &generator)
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      _ = evaluate(bytes, initial: [0x1008])
    }
  }
}
