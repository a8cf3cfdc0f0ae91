import CrashTestSupport
import Foundation

@testable import Stackwalk

/// Bytes of DWARF, assembled by hand.
struct DebugBytes {
  private(set) var bytes: [UInt8] = []

  mutating func add(_ value: UInt64, _ width: Int) { bytes += littleEndian(value, width) }
  mutating func u8(_ values: UInt64...) { for value in values { add(value, 1) } }
  mutating func u16(_ value: UInt64) { add(value, 2) }
  mutating func u32(_ value: UInt64) { add(value, 4) }
  mutating func u64(_ value: UInt64) { add(value, 8) }
  mutating func text(_ value: String) { bytes += Array(value.utf8) + [0] }

  /// The same bytes after their length in 32 bits.
  var withLength: [UInt8] {
    var whole = DebugBytes()
    whole.u32(UInt64(bytes.count))
    return whole.bytes + bytes
  }
}

/// An ELF file with one executable segment, 0x1000 to 0x2000, and any sections.
enum HandmadeELF {
  /// Composes the file.
  ///
  /// - Parameter note: the bytes of a note segment; empty for none.
  static func bytes(
    sections: [(name: String, flags: UInt64, bytes: [UInt8])], note: [UInt8] = []
  ) -> [UInt8] {
    var names: [UInt8] = [0]
    let segmentCount = note.isEmpty ? 1 : 2
    let bodyStart = 64 + 56 * segmentCount
    var body = note
    var headers = DebugBytes()
    for _ in 0..<8 { headers.u64(0) }
    for section in sections {
      header(
        &headers, name: names.count, type: 1, flags: section.flags,
        offset: bodyStart + body.count, size: section.bytes.count)
      names += Array(section.name.utf8) + [0]
      body += section.bytes
    }
    let nameOffset = names.count
    names += Array(".shstrtab".utf8) + [0]
    header(
      &headers, name: nameOffset, type: 3, flags: 0, offset: bodyStart + body.count,
      size: names.count)
    body += names
    var file = DebugBytes()
    file.u8(0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0)
    file.u64(0)
    file.u16(3)
    file.u16(62)
    file.u32(1)
    // e_entry, e_phoff, e_shoff.
    file.u64(0)
    file.u64(64)
    file.u64(UInt64(bodyStart + body.count))
    file.u32(0)
    for value in [64, 56, segmentCount, 64, sections.count + 2, sections.count + 1] {
      file.u16(UInt64(value))
    }
    // A PT_LOAD segment, R+X, without bytes in the file.
    file.u32(1)
    file.u32(5)
    for value: UInt64 in [0, 0x1000, 0x1000, 0, 0x1000, 0x1000] { file.u64(value) }
    if !note.isEmpty {
      // PT_NOTE.
      file.u32(4)
      file.u32(4)
      let size = UInt64(note.count)
      for value: UInt64 in [UInt64(bodyStart), 0, 0, size, size, 4] { file.u64(value) }
    }
    return file.bytes + body + headers.bytes
  }

  private static func header(
    _ headers: inout DebugBytes, name: Int, type: UInt64, flags: UInt64, offset: Int, size: Int
  ) {
    headers.u32(UInt64(name))
    headers.u32(type)
    for value: UInt64 in [flags, 0, UInt64(offset), UInt64(size), 0, 1, 0] { headers.u64(value) }
  }
}
