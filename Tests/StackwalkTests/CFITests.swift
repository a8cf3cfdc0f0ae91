import CrashTestSupport
internal import ProcessSnapshot
import Testing

@testable import Stackwalk

/// Call frame information written by hand, byte by byte according to DWARF 5, 6.4 and 7.24.
@Suite struct CFITests {
  /// The row at an offset within a function at 0x1000 with the usual CIE.
  private func row(_ instructions: [UInt8], at offset: UInt64 = 0x80) -> CFIRow? {
    var section = CFIBytes()
    section.cie()
    section.fde(0x1000..<0x1100, instructions: instructions)
    return row(section.table, at: 0x1000 + offset)
  }

  private func row(_ table: CFITable, at address: UInt64, registers: Int = 17) -> CFIRow? {
    table.row(at: Address(address), loadBias: 0, registerCount: registers)
  }

  @Test func startsFromTheCIE() throws {
    let row = try #require(self.row([]))
    #expect(row.cfa == .register(7, offset: 8))
    #expect(row.rules[16] == .offset(-8))
    #expect(row.rules[3] == .unspecified)
    #expect(row.returnAddressRegister == 16)
    #expect(!row.isSignalFrame)
  }

  @Test func appliesWhatComesBeforeTheAddress() throws {
    // The code is `push rbp` at 0 to 1, `mov rbp, rsp` at 1 to 4, and `ret` at 0x20.
    let program: [UInt8] = [
      0x41, 0x0E, 16, 0x86, 2, 0x43, 0x0D, 6, 0x02, 0x1C, 0x0C, 7, 8,
    ]
    #expect(row(program, at: 0)?.cfa == .register(7, offset: 8))
    #expect(row(program, at: 0)?.rules[6] == .unspecified)
    #expect(row(program, at: 1)?.cfa == .register(7, offset: 16))
    #expect(row(program, at: 1)?.rules[6] == .offset(-16))
    #expect(row(program, at: 3)?.cfa == .register(7, offset: 16))
    #expect(row(program, at: 4)?.cfa == .register(6, offset: 16))
    #expect(row(program, at: 0x1F)?.cfa == .register(6, offset: 16))
    #expect(row(program, at: 0x20)?.cfa == .register(7, offset: 8))
  }

  static let programs: [([UInt8], Int, RegisterRule)] = [
    ([0x05, 3, 2], 3, .offset(-16)),
    ([0x07, 3], 3, .undefined),
    ([0x08, 3], 3, .sameValue),
    ([0x09, 3, 12], 3, .register(12)),
    ([0x10, 3, 2, 0x77, 8], 3, .expression([0x77, 8])),
    ([0x11, 3, 0x7F], 3, .offset(8)),
    ([0x14, 3, 2], 3, .valueOffset(-16)),
    ([0x15, 3, 0x7E], 3, .valueOffset(16)),
    ([0x16, 3, 1, 0x30], 3, .valueExpression([0x30])),
    ([0x2F, 3, 2], 3, .offset(16)),
    ([0x83, 4], 3, .offset(-32)),
    // Restores the CIE's rules: none for rbx, and rip at CFA - 8.
    ([0x83, 4, 0xC3], 3, .unspecified),
    ([0x90, 4, 0xD0], 16, .offset(-8)),
    ([0x05, 16, 4, 0x06, 16], 16, .offset(-8)),
    // Restoring the state restores all rules.
    ([0x0A, 0x83, 4, 0x0B], 3, .unspecified),
    ([0x83, 1, 0x0A, 0x83, 4, 0x0A, 0x83, 5, 0x0B, 0x0B], 3, .offset(-8)),
    // GNU_args_size and a vector register do not change any tracked rule.
    ([0x2E, 16, 0x05, 40, 2, 0x83, 4], 3, .offset(-32)),
  ]

  @Test(arguments: programs)
  func rules(_ program: [UInt8], _ register: Int, _ rule: RegisterRule) throws {
    #expect(try #require(self.row(program)).rules[register] == rule)
  }

  static let frameAddresses: [([UInt8], CFARule)] = [
    ([0x0C, 6, 0x80, 1], .register(6, offset: 128)),
    ([0x12, 6, 0x7E], .register(6, offset: 16)),
    ([0x0D, 6], .register(6, offset: 8)),
    ([0x0E, 64], .register(7, offset: 64)),
    ([0x13, 0x78], .register(7, offset: 64)),
    ([0x0F, 2, 0x76, 0x70], .expression([0x76, 0x70])),
    ([0x0A, 0x0E, 64, 0x0B], .register(7, offset: 8)),
  ]

  @Test(arguments: frameAddresses)
  func cfa(_ program: [UInt8], _ rule: CFARule) throws {
    #expect(try #require(self.row(program)).cfa == rule)
  }

  @Test(
    arguments: [
      [0x02, 0x10, 0x0E, 16], [0x03, 0x10, 0, 0x0E, 16], [0x04, 0x10, 0, 0, 0, 0x0E, 16],
      [0x50, 0x0E, 16],
    ] as [[UInt8]])
  func advances(_ program: [UInt8]) {
    #expect(row(program, at: 0xF)?.cfa == .register(7, offset: 8))
    #expect(row(program, at: 0x10)?.cfa == .register(7, offset: 16))
  }

  @Test func setsTheLocation() throws {
    var section = CFIBytes()
    section.cie()
    // The operand is at offset 18 of the entry, and is relative to its own address.
    let operand = CFIBytes.address + UInt64(section.bytes.count) + 18
    section.fde(
      0x1000..<0x1100, instructions: [0x01] + littleEndian(0x1040 &- operand, 4) + [0x0E, 16])
    #expect(row(section.table, at: 0x103F)?.cfa == .register(7, offset: 8))
    #expect(row(section.table, at: 0x1040)?.cfa == .register(7, offset: 16))
  }

  @Test(
    arguments: [
      [0x0B], [0x3F], [0x1D, 0, 0, 0, 0, 0, 0, 0, 0], [0x05, 3], [0x0F, 5, 1], [0x04, 1, 2],
      [UInt8](repeating: 0x0A, count: 65), [0x0F, 1, 0x30, 0x0E, 8], [0x0F, 1, 0x30, 0x0D, 6],
    ] as [[UInt8]])
  func refusesDamage(_ program: [UInt8]) {
    #expect(row(program) == nil)
  }

  @Test func readsEveryAugmentation() throws {
    var section = CFIBytes()
    // Version 3, code alignment 4, return address in register 30; the personality's pointer is absolute.
    let cie = section.cie(
      [3] + Array("zPLRSBG".utf8) + [0, 4, 0x78, 30, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0x1B, 0x1B]
        + [0x0C, 31, 0])
    section.fde(0x1000..<0x1100, cie: cie, instructions: [0x42, 0x2D, 0x42, 0x2D])
    let table = section.table
    let fde = try #require(table.fde(at: 0x1000))
    #expect(fde.cie.codeAlignment == 4)
    #expect(fde.cie.returnAddressRegister == 30)
    // AARCH64_negate_ra_state changes no rule.
    for address: UInt64 in [0x1007, 0x1008, 0x1010] {
      let row = row(table, at: address, registers: 33)
      #expect(row?.cfa == .register(31, offset: 0))
      #expect(row?.isSignalFrame == true)
    }
  }

  @Test(
    arguments: [
      // Versions 2 and 5, an unknown letter, letters without z, a 4-byte address, and a missing terminator.
      [2, 0, 1, 0x78, 16], [5, 0, 8, 0, 1, 0x78, 16], [1, 0x7A, 0x58, 0, 1, 0x78, 16, 1, 0],
      [1, 0x52, 0, 1, 0x78, 16, 0x1B], [4, 0, 4, 0, 1, 0x78, 16], [1, 0x7A],
    ] as [[UInt8]])
  func refusesAnUnknownCIE(_ body: [UInt8]) {
    var section = CFIBytes()
    section.cie(body)
    section.fde(0x1000..<0x1100, instructions: [])
    #expect(section.table.fde(at: 0x1000) == nil)
  }

  @Test(arguments: [1, 3, 4] as [UInt8])
  func readsDebugFrame(_ version: UInt8) throws {
    var section = CFIBytes(section: .debugFrame)
    // Version 4 has the sizes of an address and of a segment selector.
    let sizes: [UInt8] = version == 4 ? [8, 0] : []
    let cie = section.cie([version, 0] + sizes + [1, 0x78, 16, 0x0C, 7, 8, 0x90, 1])
    section.fde(0x1000..<0x1100, cie: cie, instructions: [0x0E, 16])
    section.fde(0x2000..<0x2100, cie: cie, instructions: [0x0E, 24])
    let table = section.table
    #expect(row(table, at: 0x1000)?.cfa == .register(7, offset: 16))
    #expect(row(table, at: 0x20FF)?.cfa == .register(7, offset: 24))
    for address: UInt64 in [0, 0xFFF, 0x1100, 0x1FFF, 0x2100, .max] {
      #expect(table.fde(at: Address(address)) == nil)
    }
  }

  @Test func reads64BitEntries() {
    var section = CFIBytes(section: .debugFrame)
    func entry(_ body: [UInt8]) -> [UInt8] {
      littleEndian(0xFFFF_FFFF, 4) + littleEndian(UInt64(body.count), 8) + body
    }
    section.bytes += entry(
      littleEndian(.max, 8) + [4, 0, 8, 0, 1, 0x78, 16, 0x0C, 7, 8, 0x90, 1])
    section.bytes += entry(
      [UInt8](repeating: 0, count: 8) + littleEndian(0x1000, 8) + littleEndian(0x100, 8)
        + [0x0E, 16])
    #expect(row(section.table, at: 0x1080)?.cfa == .register(7, offset: 16))
  }

  /// Linkers' tables list a function without code and the function at the same address in different ways: both,
  /// in either order, or, for lld, only the first.
  @Test(arguments: [[0, 1], [1, 0], [0, 1, 0], [1, 0, 0], [0]])
  func findsTheFunctionBesideEmptyOnes(_ order: [Int]) throws {
    var section = CFIBytes()
    section.cie()
    let ranges: [Range<UInt64>] = [0x1_0000..<0x1_0000, 0x1_0000..<0x1_0080]
    var places: [UInt64] = []
    for range in ranges {
      places.append(CFIBytes.address + UInt64(section.bytes.count))
      section.fde(range, instructions: [0x0E, 48])
    }
    let header = CFIBytes.address + UInt64(section.bytes.count)
    section.bytes += CFIBytes.header(
      order.map { (0x1_0000, places[$0]) }, at: header, section: CFIBytes.address)
    let end = CFIBytes.address + UInt64(section.bytes.count)
    let table = CFITable(
      CFITable.Places(header: AddressRange(from: Address(header), to: Address(end))), from: section)
    for address in [0x1_0000, 0x1_007F] as [UInt64] {
      #expect(row(table, at: address)?.cfa == .register(7, offset: 48))
    }
    #expect(row(table, at: 0x1_0080) == nil)
    #expect(row(table, at: 0xFFFF) == nil)
  }

  @Test func findsByTheHeadersTable() throws {
    var section = CFIBytes()
    section.cie()
    var entries: [(start: UInt64, position: UInt64)] = []
    for index in 0..<100 {
      let start = 0x1_0000 + UInt64(index) * 0x100
      entries.append((start, CFIBytes.address + UInt64(section.bytes.count)))
      section.fde(start..<start + 0x80, instructions: [0x0E, UInt8(16 + index)])
    }
    let header = CFIBytes.address + UInt64(section.bytes.count)
    section.bytes += CFIBytes.header(entries, at: header, section: CFIBytes.address)
    let end = CFIBytes.address + UInt64(section.bytes.count)
    let range = AddressRange(from: Address(header), to: Address(end))
    let table = CFITable(CFITable.Places(header: range), from: section)
    for (index, entry) in entries.enumerated() {
      #expect(table.functionStart(of: Address(entry.start + 0x90))?.value == entry.start)
      let row = try #require(self.row(table, at: entry.start + 0x7F))
      #expect(row.cfa == .register(7, offset: Int64(16 + index)))
      // No entry describes the addresses between two functions.
      #expect(self.row(table, at: entry.start + 0x80) == nil)
    }
    #expect(table.functionStart(of: 0xFFFF) == nil)
  }
}
