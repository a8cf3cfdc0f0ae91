import CrashTestSupport
import ProcessSnapshot

@testable import Stackwalk

/// A frame section written by hand.
struct CFIBytes: CFISource {
  /// The load address of `.eh_frame`; offsets in `.debug_frame` start at 0.
  static let address: UInt64 = 0x5000

  var section: CFISection = .ehFrame
  var address = CFIBytes.address
  var bytes: [UInt8] = []

  private var base: UInt64 { section == .ehFrame ? address : 0 }

  func cfiBytes(of section: CFISection, at position: UInt64, count: Int) -> [UInt8]? {
    guard section == self.section, position >= base, position - base <= UInt64(bytes.count),
      count >= 0, count <= bytes.count - Int(position - base)
    else { return nil }
    return Array(bytes[Int(position - base)..<Int(position - base) + count])
  }

  /// Version 1, "zR" with pcrel|sdata4, code alignment 1, data alignment -8, return address in register 16; then
  /// the rules at the start of every x86_64 function: CFA = rsp + 8, rip at CFA - 8.
  static let usualCIE: [UInt8] = [
    1, 0x7A, 0x52, 0, 1, 0x78, 16, 1, 0x1B, 0x0C, 7, 8, 0x90, 1,
  ]

  /// Appends a CIE and returns its offset.
  @discardableResult
  mutating func cie(_ body: [UInt8] = usualCIE) -> UInt64 {
    let offset = UInt64(bytes.count)
    let identifier: UInt64 = section == .ehFrame ? 0 : 0xFFFF_FFFF
    bytes += littleEndian(UInt64(4 + body.count), 4) + littleEndian(identifier, 4) + body
    return offset
  }

  /// Appends an FDE: its range in the section's usual encoding, and its instructions.
  mutating func fde(
    _ range: Range<UInt64>, cie: UInt64 = 0, instructions: [UInt8]
  ) {
    switch section {
    case .ehFrame:
      let identifier = UInt64(bytes.count + 4)
      let place = address + identifier + 4
      let body =
        littleEndian(range.lowerBound &- place, 4) + littleEndian(UInt64(range.count), 4) + [0]
        + instructions
      bytes += littleEndian(UInt64(4 + body.count), 4) + littleEndian(identifier - cie, 4) + body
    case .debugFrame:
      let body =
        littleEndian(range.lowerBound, 8) + littleEndian(UInt64(range.count), 8) + instructions
      bytes += littleEndian(UInt64(4 + body.count), 4) + littleEndian(cie, 4) + body
    }
  }

  /// An `.eh_frame_hdr` with a table: version 1; pcrel|sdata4, udata4, datarel|sdata4.
  static func header(
    _ entries: [(start: UInt64, position: UInt64)], at header: UInt64, section: UInt64
  ) -> [UInt8] {
    let table = entries.flatMap { entry in
      littleEndian(entry.start &- header, 4) + littleEndian(entry.position &- header, 4)
    }
    return [1, 0x1B, 0x03, 0x3B] + littleEndian(section &- (header + 4), 4)
      + littleEndian(UInt64(entries.count), 4) + table
  }

  /// A table that is built by reading the whole section.
  var table: CFITable {
    var places = CFITable.Places()
    let range = base..<base + UInt64(bytes.count)
    switch section {
    case .ehFrame:
      places.ehFrame = AddressRange(
        from: Address(range.lowerBound), to: Address(range.upperBound))
    case .debugFrame:
      places.debugFrame = AddressRange(
        from: Address(range.lowerBound), to: Address(range.upperBound))
    }
    return CFITable(places, from: self)
  }
}

/// An ELF image with call frame information, as it is in a dump's memory.
struct HandmadeImage {
  /// The ELF header and the program headers, at the image's start.
  let header: [UInt8]
  /// `.eh_frame` and `.eh_frame_hdr`, at offset 0x800.
  let frames: [UInt8]

  /// - Parameters:
  ///   - address: the load address of the image.
  ///   - functions: the functions' offsets from the image's start, and their instructions after the usual ones.
  init(at address: UInt64, functions: [(range: Range<UInt64>, instructions: [UInt8])]) {
    let start = address + 0x800
    var section = CFIBytes(address: start)
    section.cie()
    var entries: [(UInt64, UInt64)] = []
    for function in functions {
      let range = address + function.range.lowerBound..<address + function.range.upperBound
      entries.append((range.lowerBound, start + UInt64(section.bytes.count)))
      section.fde(range, instructions: function.instructions)
    }
    let headerOffset = 0x800 + UInt64(section.bytes.count)
    section.bytes += CFIBytes.header(entries, at: address + headerOffset, section: start)
    let size = 0x800 + UInt64(section.bytes.count) - headerOffset
    var elf: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0] + [UInt8](repeating: 0, count: 8)
    elf +=
      littleEndian(3, 2) + littleEndian(62, 2) + littleEndian(1, 4) + littleEndian(0, 8)
      + littleEndian(64, 8)
    elf +=
      littleEndian(0, 8) + littleEndian(0, 4) + littleEndian(64, 2) + littleEndian(56, 2)
      + littleEndian(2, 2)
    elf += [UInt8](repeating: 0, count: 6)
    func segment(_ type: UInt64, _ place: UInt64, _ size: UInt64) -> [UInt8] {
      littleEndian(type, 4) + littleEndian(5, 4) + littleEndian(place, 8) + littleEndian(place, 8)
        + littleEndian(place, 8)
        + littleEndian(size, 8) + littleEndian(size, 8) + littleEndian(8, 8)
    }
    header = elf + segment(1, 0, 0x1000) + segment(0x6474_E550, headerOffset, size)
    frames = section.bytes
  }
}
