internal import Foundation
package import ProcessSnapshot

/// ELF files of some kilobytes that took a reader minutes or gigabytes, or would take them.
///
/// They have no build ID, so that a dump can name one of them as a module.
package enum HostileELF: String, CaseIterable, Sendable {
  /// Six thousand functions share one list of eleven thousand ranges.
  case rangeLists
  /// Inlined calls are nested eight thousand deep, each with a list of ranges.
  case nestedCalls
  /// All sections of debug information are one stream that expands to 64 MiB.
  case sharedCompression
  /// A debug file of 64 GiB, which is nearly all a hole, and is identified only by its checksum.
  case sparseDebugFile
  /// Sixty thousand segments, with a hundred thousand symbols in the last one.
  case segmentsAndSymbols

  /// The lowest address of code in the file; everything from there on is code.
  package static let base: Address = 0x1000

  /// Writes the file.
  ///
  /// - Returns: its module, loaded at the file's own address.
  package func write(in directory: String) throws -> ModuleSnapshot {
    let path = "\(directory)/\(rawValue).so"
    let file: ELFBytes
    switch self {
    case .rangeLists:
      file = Self.debugInformation(functions: 6_000, ranges: 11_000, isNested: false)
    case .nestedCalls:
      file = Self.debugInformation(functions: 8_000, ranges: 500, isNested: true)
    case .sharedCompression: file = Self.compressed()
    case .sparseDebugFile:
      file = try Self.linked(to: "\(directory)/sparse.debug")
    case .segmentsAndSymbols: file = Self.crowded()
    }
    try Data(file.bytes).write(to: URL(fileURLWithPath: path))
    return ModuleSnapshot(address: Self.base, size: 1 << 28, path: path)
  }

  private static func debugInformation(functions: Int, ranges: Int, isNested: Bool) -> ELFBytes {
    // 1: unit with low_pc and high_pc. 2: function with ranges. 3: function with low_pc, high_pc and children.
    // 4: inlined call with ranges and children.
    let abbreviations: [UInt8] = [
      1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0, 2, 0x2E, 0, 0x55, 0x17, 0, 0,
      3, 0x2E, 1, 0x11, 0x01, 0x12, 0x07, 0, 0, 4, 0x1D, 1, 0x55, 0x17, 0, 0, 0,
    ]
    var unit = word(5, 2) + [1, 8] + word(0, 4) + [1] + word(base.value, 8) + word(0x10_0000, 8)
    if isNested { unit += [3] + word(base.value, 8) + word(0x10_0000, 8) }
    for _ in 0..<functions { unit += [isNested ? 4 : 2] + word(12, 4) }
    // DW_RLE_offset_pair; the last one contains the addresses that are looked up.
    var list: [UInt8] = []
    for _ in 0..<ranges { list += [4, 0x70, 0x71] }
    list += [4, 0, 0x6F, 0]
    let lists = word(5, 2) + [8, 0] + word(0, 4) + list
    var file = ELFBytes()
    file.add(".debug_info", word(UInt64(unit.count), 4) + unit)
    file.add(".debug_abbrev", abbreviations)
    file.add(".debug_rnglists", word(UInt64(lists.count), 4) + lists)
    return file
  }

  private static func compressed() -> ELFBytes {
    // A literal zero, then copies of 258 bytes at distance one, in the fixed Huffman code of RFC 1951.
    let copies = (64 << 20) / 258
    var bits = BitStream()
    bits.add([1, 1, 0], [0, 0, 1, 1, 0, 0, 0, 0])
    for _ in 0..<copies { bits.add([1, 1, 0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 0]) }
    bits.add([0, 0, 0, 0, 0, 0, 0])
    let size = 1 + 258 * copies
    let checksum = UInt32(size % 65521) << 16 | 1
    // An Elf64_Chdr with ELFCOMPRESS_ZLIB.
    let stream =
      word(1, 4) + word(0, 4) + word(UInt64(size), 8) + word(1, 8) + [0x78, 0x01] + bits.bytes
      + word(UInt64(checksum.byteSwapped), 4)
    var file = ELFBytes()
    file.add(".debug_info", flags: 0x800, stream)
    for name in ["abbrev", "line", "str", "line_str", "addr", "rnglists", "aranges", "frame"] {
      file.addAlias(".debug_" + name, flags: 0x800)
    }
    return file
  }

  private static func linked(to path: String) throws -> ELFBytes {
    var debug = ELFBytes()
    debug.add(".debug_info", [0, 0, 0, 0])
    try Data(debug.bytes).write(to: URL(fileURLWithPath: path))
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.truncate(atOffset: 64 << 30)
    try handle.close()
    var file = ELFBytes()
    file.add(".gnu_debuglink", Array("sparse.debug\0\0\0\0".utf8) + word(0x1234_5678, 4))
    return file
  }

  private static func crowded() -> ELFBytes {
    var file = ELFBytes()
    file.segmentCount = 60_000
    var symbols = [UInt8](repeating: 0, count: 24)
    for index in 0..<100_000 {
      symbols +=
        word(1, 4) + [0x12, 0] + word(1, 2) + word(file.lastSegment &+ UInt64(index), 8)
        + word(1, 8)
    }
    file.add(".strtab", type: 3, Array("\0function\0".utf8))
    file.add(".symtab", type: 2, link: 1, symbols)
    return file
  }

  fileprivate static func word(_ value: UInt64, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }
}

/// Sections and segments that form an ELF file.
private struct ELFBytes {
  private var contents: [UInt8] = []
  private var headers: [UInt8] = [UInt8](repeating: 0, count: 64)
  private var names: [UInt8] = [0]
  private var count = 1
  private var last = (offset: 0, size: 0)
  /// The number of segments, each of 4 KiB, one after the other.
  var segmentCount = 1

  var lastSegment: UInt64 { HostileELF.base.value &+ UInt64(segmentCount - 1) &* 0x1000 }
  private var start: Int { 64 + 56 * segmentCount }

  mutating func add(
    _ name: String, type: UInt64 = 1, flags: UInt64 = 0, link: UInt64 = 0, _ bytes: [UInt8]
  ) {
    last = (start + contents.count, bytes.count)
    contents += bytes
    addHeader(name, type, flags, link)
  }

  /// Adds a section with the same bytes as the previous one.
  mutating func addAlias(_ name: String, flags: UInt64) { addHeader(name, 1, flags, 0) }

  private mutating func addHeader(_ name: String, _ type: UInt64, _ flags: UInt64, _ link: UInt64) {
    let word = HostileELF.word
    headers += word(UInt64(names.count), 4) + word(type, 4) + word(flags, 8) + word(0, 8)
    headers += word(UInt64(last.offset), 8) + word(UInt64(last.size), 8) + word(link, 4)
    headers += word(0, 4) + word(1, 8) + word(0, 8)
    names += Array(name.utf8) + [0]
    count += 1
  }

  var bytes: [UInt8] {
    var whole = self
    // The table of section names contains its own name.
    whole.names += Array(".shstrtab\0".utf8)
    let table = whole.names
    whole.names.removeLast(10)
    whole.add(".shstrtab", type: 3, table)
    let word = HostileELF.word
    var file: [UInt8] = [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1] + [UInt8](repeating: 0, count: 9)
    file += word(3, 2) + word(62, 2) + word(1, 4) + word(0, 8) + word(64, 8)
    file += word(UInt64(start + whole.contents.count), 8) + word(0, 4)
    for value in [64, 56, UInt64(segmentCount), 64, UInt64(whole.count), UInt64(whole.count - 1)] {
      file += word(value, 2)
    }
    for index in 0..<segmentCount {
      let address = HostileELF.base.value &+ UInt64(index) &* 0x1000
      let size: UInt64 = segmentCount == 1 ? 1 << 28 : 0x1000
      file += word(1, 4) + word(5, 4) + word(0, 8) + word(address, 8) + word(address, 8)
      file += word(0, 8) + word(size, 8) + word(0x1000, 8)
    }
    return file + whole.contents + whole.headers
  }
}

/// A stream of bits, from the lowest bit of each byte.
private struct BitStream {
  private(set) var bytes: [UInt8] = []
  private var used = 8

  mutating func add(_ groups: [UInt8]...) {
    for bit in groups.joined() {
      if used == 8 {
        bytes.append(0)
        used = 0
      }
      bytes[bytes.count - 1] |= bit << UInt8(used)
      used += 1
    }
  }
}
