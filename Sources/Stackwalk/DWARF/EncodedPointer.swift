/// How pointers are written in `.eh_frame`, `.eh_frame_hdr` and language-specific data.
///
/// Source: Linux Standard Base Core, 10.5 (DWARF Exception Header Encoding).
struct PointerEncoding {
  static let omitted: UInt8 = 0xFF
  static let absolute = PointerEncoding(rawValue: 0)

  let rawValue: UInt8

  /// What pointers may be relative to, in the file's own numbering.
  struct Bases {
    /// Where the cursor's position 0 is loaded.
    var section: UInt64
    /// `.eh_frame_hdr`, which is what linkers mean by data.
    var data: UInt64?
    /// Where the function starts that is described.
    var function: UInt64?
  }

  var isOmitted: Bool { rawValue == Self.omitted }
  /// The value is where the pointer lies, not the pointer.
  var isIndirect: Bool { !isOmitted && rawValue & 0x80 != 0 }

  /// Bytes of a pointer; nil for LEB128 and unknown formats.
  var width: Int? {
    switch rawValue & 0x0F {
    case 0x00, 0x04, 0x0C: 8
    case 0x02, 0x0A: 2
    case 0x03, 0x0B: 4
    default: nil
    }
  }
}

extension DWARFCursor {
  /// Reads a pointer; nil for an encoding that is unknown or relative to what is not known.
  ///
  /// An indirect one is not followed: the result is where the pointer lies.
  mutating func readPointer(
    _ encoding: PointerEncoding, bases: PointerEncoding.Bases
  ) -> UInt64? {
    guard !encoding.isOmitted else { return nil }
    // DW_EH_PE_aligned.
    if encoding.rawValue & 0x70 == 0x50 {
      let misaligned = (bases.section &+ UInt64(position)) % 8
      guard misaligned == 0 || skip(8 &- misaligned) else { return nil }
      return read(UInt64.self)
    }
    let place = bases.section &+ UInt64(position)
    guard let value = readPointerValue(encoding) else { return nil }
    switch encoding.rawValue & 0x70 {
    case 0x00: return value
    case 0x10: return place &+ value
    case 0x30: return bases.data.map { $0 &+ value }
    case 0x40: return bases.function.map { $0 &+ value }
    // DW_EH_PE_textrel, which neither architecture's linkers write.
    default: return nil
    }
  }

  /// Reads only the format's value, which is what the length of a range is.
  mutating func readPointerValue(_ encoding: PointerEncoding) -> UInt64? {
    switch encoding.rawValue & 0x0F {
    case 0x00, 0x04, 0x0C: read(UInt64.self)
    case 0x01: readULEB()
    case 0x02: read(UInt16.self).map { UInt64($0) }
    case 0x03: read(UInt32.self).map { UInt64($0) }
    case 0x09: readSLEB().map { UInt64(bitPattern: $0) }
    case 0x0A: read(Int16.self).map { UInt64(bitPattern: Int64($0)) }
    case 0x0B: read(Int32.self).map { UInt64(bitPattern: Int64($0)) }
    default: nil
    }
  }
}
