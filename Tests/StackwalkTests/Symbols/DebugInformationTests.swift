import CrashTestSupport
import Foundation
internal import ProcessSnapshot
import Testing

@testable import Stackwalk

/// DWARF 4 and 5 written by hand.
///
/// The function `outer` is at 0x1100 to 0x1140. `Inner` is inlined into it at 0x1110 to 0x1118 and 0x1130 to
/// 0x1134; its name is in a declaration to which its abstract entry refers.
@Suite struct DebugInformationTests {
  private static func abbreviations(_ version: UInt64) -> [UInt8] {
    var table = DebugBytes()
    // 1: compile unit: name, comp_dir, stmt_list, low_pc, high_pc, and version 5's bases.
    table.u8(1, 0x11, 1, 0x03, 0x08, 0x1B, 0x08, 0x10, 0x17, 0x11, 0x01, 0x12, 0x07)
    if version >= 5 { table.u8(0x72, 0x17, 0x73, 0x17, 0x74, 0x17) }
    table.u8(0, 0)
    // 2: declaration: name strp, linkage name strx1 or strp.
    table.u8(2, 0x2E, 0, 0x03, 0x0E, 0x6E, version >= 5 ? 0x25 : 0x0E, 0, 0)
    // 3: abstract function: specification ref4, decl_line implicit_const or data1.
    table.u8(3, 0x2E, 0, 0x47, 0x13, 0x3B)
    if version >= 5 { table.u8(0x21, 0x7F) } else { table.u8(0x0B) }
    table.u8(0, 0)
    // 4: function with children: name indirect, low_pc addrx or addr, high_pc udata.
    table.u8(4, 0x2E, 1, 0x03, 0x16, 0x11, version >= 5 ? 0x1B : 0x01, 0x12, 0x0F, 0, 0)
    // 5: lexical block without ranges, with a variable that has a block of bytes.
    table.u8(5, 0x0B, 1, 0, 0)
    table.u8(6, 0x34, 0, 0x02, 0x18, 0x03, 0x08, 0, 0)
    // 7: inlined: abstract_origin ref_udata, ranges rnglistx or sec_offset, call file, line and column.
    table.u8(7, 0x1D, 0, 0x31, 0x15, 0x55, version >= 5 ? 0x23 : 0x17)
    table.u8(0x58, 0x0B, 0x59, 0x05, 0x57, 0x0B, 0, 0)
    table.u8(0)
    return table.bytes
  }

  static func sections(version: UInt64) -> [(name: String, flags: UInt64, bytes: [UInt8])] {
    var strings = DebugBytes()
    strings.text("")
    strings.text("Inner")
    strings.text("_ZN1A5InnerEv")
    var unit = DebugBytes()
    unit.u16(version)
    if version >= 5 { unit.u8(1, 8) }
    unit.u32(0)
    if version < 5 { unit.u8(8) }
    unit.u8(1)
    unit.text("main.cpp")
    unit.text("/build/dir")
    unit.u32(0)
    unit.u64(0x1100)
    unit.u64(0x40)
    if version >= 5 {
      unit.u32(8)
      unit.u32(8)
      unit.u32(12)
    }
    let declaration = unit.bytes.count + 4
    unit.u8(2)
    unit.u32(1)
    version >= 5 ? unit.u8(0) : unit.u32(7)
    let abstract = unit.bytes.count + 4
    unit.u8(3)
    unit.u32(UInt64(declaration))
    if version < 5 { unit.u8(9) }
    // The entry of outer; its name has the indirect form DW_FORM_string.
    unit.u8(4, 0x08)
    unit.text("outer")
    version >= 5 ? unit.u8(0) : unit.u64(0x1100)
    unit.u8(0x40)
    unit.u8(5)
    unit.u8(6, 3, 0x91, 0x80, 0x7F)
    unit.text("variable")
    unit.u8(7, UInt64(abstract))
    version >= 5 ? unit.u8(0) : unit.u32(16)
    unit.u8(1)
    unit.u16(300)
    unit.u8(7)
    unit.u8(0, 0, 0)
    var result: [(name: String, flags: UInt64, bytes: [UInt8])] = [
      (".debug_info", 0, unit.withLength), (".debug_abbrev", 0, abbreviations(version)),
      (".debug_str", 0, strings.bytes), (".debug_line", 0, line(version: version)),
    ]
    if version >= 5 {
      var offsets = DebugBytes()
      offsets.u16(5)
      offsets.u16(0)
      offsets.u32(7)
      var addresses = DebugBytes()
      addresses.u16(5)
      addresses.u8(8, 0)
      addresses.u64(0x1100)
      var lists = DebugBytes()
      lists.u16(5)
      lists.u8(8, 0)
      lists.u32(1)
      lists.u32(4)
      // The entries offset_pair, base_addressx, startx_length and end.
      lists.u8(4, 0x10, 0x18, 1, 0, 4, 0x30, 0x34, 0)
      result += [
        (".debug_str_offsets", 0, offsets.withLength), (".debug_addr", 0, addresses.withLength),
        (".debug_rnglists", 0, lists.withLength),
      ]
    } else {
      var ranges = DebugBytes()
      // Sixteen bytes of another list, then a pair, a new base, a pair, and the end.
      for value: UInt64 in [0, 0, 0x10, 0x18, .max, 0x1130, 0, 4, 0, 0] { ranges.u64(value) }
      result.append((".debug_ranges", 0, ranges.bytes))
    }
    return result
  }

  /// Rows: 0x1100 line 10; 0x1110 line 77 of file 2, column 5; 0x1118 line 12; 0x1130 line 0; end at 0x1140.
  private static func line(version: UInt64) -> [UInt8] {
    var tables = DebugBytes()
    // minimum_instruction_length, maximum_operations, default_is_stmt, line_base -3, line_range 12, opcode_base 13.
    tables.u8(1, 1, 1, 0xFD, 12, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
    if version >= 5 {
      // Directories: path as string.
      tables.u8(1, 1, 0x08, 2)
      tables.text("/build/dir")
      tables.text("include")
      // Files: path as string, directory as udata.
      tables.u8(2, 1, 0x08, 2, 0x0F, 3)
      for (name, directory) in [("main.cpp", 0), ("main.cpp", 0), ("inner.h", 1)]
        as [(String, UInt64)]
      {
        tables.text(name)
        tables.u8(directory)
      }
    } else {
      tables.text("include")
      tables.u8(0)
      tables.text("main.cpp")
      tables.u8(0, 0, 0)
      tables.text("inner.h")
      tables.u8(1, 0, 0, 0)
    }
    var program = DebugBytes()
    program.u8(0, 9, 2)
    program.u64(0x1100)
    // advance_line 9, copy; file 2, column 5, advance_line 67, advance_pc 16, copy.
    program.u8(3, 9, 1, 4, 2, 5, 5, 3, 0xC3, 0x00, 2, 16, 1)
    // file 1, column 0, advance_line -65, then the special opcode for 8 bytes and no line.
    program.u8(4, 1, 5, 0, 3, 0xBF, 0x7F, 13 + 3 + 12 * 8)
    // fixed_advance_pc 24, advance_line -12, copy; an unknown extended opcode; advance_pc 16, end.
    program.u8(9, 24, 0, 3, 0x74, 1, 0, 3, 0x80, 1, 2, 2, 16, 0, 1, 1)
    var whole = DebugBytes()
    whole.u16(version)
    if version >= 5 { whole.u8(8, 0) }
    whole.u32(UInt64(tables.bytes.count))
    var complete = DebugBytes()
    complete.u32(UInt64(whole.bytes.count + tables.bytes.count + program.bytes.count))
    return complete.bytes + whole.bytes + tables.bytes + program.bytes
  }

  private func information(_ bytes: [UInt8], in directory: borrowing TemporaryDirectory) throws
    -> DebugInformation?
  {
    let path = directory.path + "/module"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    return DebugInformation(of: try ELFImage(path: path), limit: WorkLimit(seconds: nil))
  }

  @Test(arguments: [4, 5] as [UInt64])
  func functionsLinesAndInlinedCalls(version: UInt64) throws {
    let directory = try TemporaryDirectory()
    let file = HandmadeELF.bytes(sections: Self.sections(version: version))
    let opened = try information(file, in: directory)
    let information = try #require(opened)
    let main = "/build/dir/main.cpp"
    func outer(_ line: Int?, _ column: Int? = nil) -> DebugInformation.Frame {
      .init(
        name: "outer", start: 0x1100,
        location: Stackwalk.SourceLocation(file: main, line: line, column: column), isInlined: false
      )
    }
    func inner(_ location: Stackwalk.SourceLocation) -> DebugInformation.Frame {
      .init(name: "_ZN1A5InnerEv", start: nil, location: location, isInlined: true)
    }
    #expect(information.frames(at: 0x10FF) == [])
    #expect(information.frames(at: 0x1100) == [outer(10)])
    #expect(information.frames(at: 0x110F) == [outer(10)])
    let header = Stackwalk.SourceLocation(file: "/build/dir/include/inner.h", line: 77, column: 5)
    #expect(information.frames(at: 0x1110) == [inner(header), outer(300, 7)])
    #expect(information.frames(at: 0x1117) == [inner(header), outer(300, 7)])
    #expect(information.frames(at: 0x1118) == [outer(12)])
    // The code from 0x1130 on has no line: the previous line is used unless line 0 is requested.
    var near = Stackwalk.SourceLocation(file: main, line: 12)
    near.isApproximate = true
    #expect(information.frames(at: 0x1133) == [inner(near), outer(300, 7)])
    #expect(
      information.frames(at: 0x1133, approximating: false)
        == [inner(Stackwalk.SourceLocation(file: main)), outer(300, 7)])
    #expect(information.frames(at: 0x113F, approximating: false) == [outer(nil)])
    #expect(information.frames(at: 0x1140) == [])
  }

  @Test(arguments: [4, 5] as [UInt64])
  func anyBytes(version: UInt64) throws {
    let directory = try TemporaryDirectory()
    let sections = Self.sections(version: version)
    for (index, section) in sections.enumerated() {
      for cut in 0..<section.bytes.count {
        var cutSections = sections
        cutSections[index].bytes = Array(section.bytes[..<cut])
        try use(HandmadeELF.bytes(sections: cutSections), in: directory)
      }
      for place in section.bytes.indices {
        for value: UInt8 in [0, 0x16, 0xFF] {
          var flipped = sections
          flipped[index].bytes[place] = value
          try use(HandmadeELF.bytes(sections: flipped), in: directory)
        }
      }
    }
  }

  /// The result is not compared; reading must not trap or hang.
  private func use(_ file: [UInt8], in directory: borrowing TemporaryDirectory) throws {
    guard let information = try information(file, in: directory) else { return }
    for address: UInt64 in [0, 0x1100, 0x1112, 0x1131, 0x113F, .max] {
      #expect(information.frames(at: Address(address)).count < 64)
    }
  }

  @Test func compressedSections() throws {
    let directory = try TemporaryDirectory()
    // One stored block each, which a compressor writes for data that it cannot shrink.
    func zlib(_ bytes: [UInt8]) -> [UInt8] {
      var block = DebugBytes()
      block.u8(0x78, 0x01, 1)
      block.u16(UInt64(bytes.count))
      block.u16(UInt64(bytes.count) ^ 0xFFFF)
      var (low, high) = (UInt32(1), UInt32(0))
      for byte in bytes {
        low = (low + UInt32(byte)) % 65521
        high = (high + low) % 65521
      }
      let sum = high << 16 | low
      return block.bytes + bytes + (0..<4).map { UInt8(truncatingIfNeeded: sum >> (24 - 8 * $0)) }
    }
    let modern = Self.sections(version: 5).map { section in
      var header = DebugBytes()
      header.u32(1)
      header.u32(0)
      header.u64(UInt64(section.bytes.count))
      header.u64(1)
      return (section.name, UInt64(0x800), header.bytes + zlib(section.bytes))
    }
    let old = Self.sections(version: 5).map { section in
      let size = UInt64(section.bytes.count)
      let header =
        Array("ZLIB".utf8) + (0..<8).map { UInt8(truncatingIfNeeded: size >> (56 - 8 * $0)) }
      return (".z" + section.name.dropFirst(), UInt64(0), header + zlib(section.bytes))
    }
    for sections in [modern, old] {
      let file = HandmadeELF.bytes(sections: sections)
      let opened = try information(file, in: directory)
      let information = try #require(opened)
      #expect(information.note == nil)
      #expect(information.frames(at: 0x1110).map { $0.name } == ["_ZN1A5InnerEv", "outer"])
    }
    var zstandard = modern
    zstandard[0].2[0] = 2
    let opened = try information(HandmadeELF.bytes(sections: zstandard), in: directory)
    let information = try #require(opened)
    // A section is decompressed only when it is needed.
    #expect(information.note == nil)
    #expect(information.frames(at: 0x1110) == [])
    #expect(information.note?.contains("zstd") == true)
  }
}
