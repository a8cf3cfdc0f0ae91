import ProcessSnapshot
import Testing

@testable import Stackwalk

/// For any bytes in a frame section, reading terminates without a trap.
@Suite struct CFIDamageTests {
  /// The start of the C library's own section, with few enough functions to keep the test fast, and their last
  /// addresses.
  private static let real: (bytes: [UInt8], address: UInt64, functions: [Address])? = {
    guard let elf = try? ELFFile(path: "/lib/x86_64-linux-gnu/libc.so.6"),
      let section = elf.section(named: ".eh_frame"), section.size >= 1024,
      let bytes = elf.file.bytes(at: section.fileOffset, count: 1024)
    else { return nil }
    let source = Damaged(address: section.address.value, bytes: bytes)
    var functions: [Address] = []
    var position = section.address.value
    while let entry = CFIEntry(of: .ehFrame, at: position, from: source) {
      position = entry.next
      guard case .fde(let position) = entry.kind,
        let cie = CFIEntry(of: .ehFrame, at: position, from: source).flatMap(CIE.init),
        let fde = FDE(entry, cie: cie)
      else { continue }
      if let last = fde.range.last { functions.append(last) }
    }
    return (bytes, section.address.value, functions)
  }()

  private struct Damaged: CFISource {
    var address: UInt64
    var bytes: [UInt8]

    func cfiBytes(of section: CFISection, at position: UInt64, count: Int) -> [UInt8]? {
      guard section == .ehFrame, position >= address,
        position - address <= UInt64(bytes.count), count >= 0,
        count <= bytes.count - Int(position - address)
      else { return nil }
      return Array(bytes[Int(position - address)..<Int(position - address) + count])
    }

    var table: CFITable {
      var places = CFITable.Places()
      places.ehFrame = AddressRange(
        start: Address(address), byteCount: UInt64(bytes.count))
      return CFITable(places, from: self)
    }
  }

  /// Reads the section and runs all instructions; returns the number of functions that still have rules.
  @discardableResult
  private func use(_ bytes: [UInt8]) throws -> Int {
    let real = try #require(Self.real)
    let table = Damaged(address: real.address, bytes: bytes).table
    return real.functions.count { function in
      table.row(at: function, loadBias: 0, registerCount: 17) != nil
    }
  }

  @Test(.enabled("apt-get install libc6, for x86_64") { CFIDamageTests.real != nil })
  func everyByteChanged() throws {
    let real = try #require(Self.real)
    #expect(try use(real.bytes) == real.functions.count)
    #expect(real.functions.count > 10)
    for offset in real.bytes.indices {
      for change: UInt8 in [0xFF, 0x01] {
        var bytes = real.bytes
        bytes[offset] ^= change
        try use(bytes)
      }
    }
  }

  @Test(.enabled("apt-get install libc6, for x86_64") { CFIDamageTests.real != nil })
  func cutAnywhere() throws {
    let real = try #require(Self.real)
    for count in 0..<real.bytes.count { try use(Array(real.bytes[..<count])) }
  }

  /// Changes every byte of a header and its table.
  @Test func everyByteOfAHeader() {
    var section = CFIBytes()
    section.cie()
    let position = CFIBytes.address + UInt64(section.bytes.count)
    section.fde(0x1_0000..<0x1_0100, instructions: [0x0E, 16])
    let offset = section.bytes.count
    let header = CFIBytes.address + UInt64(offset)
    section.bytes += CFIBytes.header(
      [(0x1_0000, position)], at: header, section: CFIBytes.address)
    func row(_ section: CFIBytes) -> CFIRow? {
      let end = CFIBytes.address + UInt64(section.bytes.count)
      return CFITable(
        CFITable.Places(header: AddressRange(from: Address(header), to: Address(end))),
        from: section
      )
      .row(at: 0x1_0080, loadBias: 0, registerCount: 17)
    }
    #expect(row(section) != nil)
    for index in offset..<section.bytes.count {
      for value in 0...255 as ClosedRange<UInt8> {
        var damaged = section
        damaged.bytes[index] = value
        _ = row(damaged)
      }
    }
  }
}
