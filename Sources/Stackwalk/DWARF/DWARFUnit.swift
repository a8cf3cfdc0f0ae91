internal import ProcessSnapshot

/// One unit of `.debug_info`: its header, and what its first entry says of the whole.
///
/// Source: DWARF 5, 7.5.1 and 3.1; DWARF 4, 7.5.1.
final class DWARFUnit {
  /// Of the header, in `.debug_info`.
  let offset: UInt64
  /// Of what follows the unit.
  let end: UInt64
  let headerSize: Int
  let format: DWARFValue.Format
  let abbreviationOffset: UInt64

  // Of the first entry.
  var lineOffset: UInt64?
  var stringOffsetsBase: UInt64
  var addressBase: UInt64 = 8
  var rangeListsBase: UInt64
  var low: DWARFValue?
  var high: DWARFValue?
  var ranges: DWARFValue?
  var compilationDirectory: DWARFValue?
  /// What relative ranges count from.
  var baseAddress: Address = 0

  /// Nil for what is no unit of DWARF 2 to 5 with code, or does not fit the section.
  init?(at offset: UInt64, end: UInt64, header cursor: inout DWARFReader, offsetSize: Int) {
    let start = cursor.offset
    let version = cursor.u16()
    guard (2...5).contains(version) else { return nil }
    var addressSize = 0
    var type: UInt8 = 1
    if version >= 5 {
      type = cursor.u8()
      addressSize = Int(cursor.u8())
      abbreviationOffset = cursor.unsigned(offsetSize)
      // A skeleton or split unit has the other half's ID.
      if type == 4 || type == 5 { cursor.skip(8) }
    } else {
      abbreviationOffset = cursor.unsigned(offsetSize)
      addressSize = Int(cursor.u8())
    }
    guard !cursor.hasFailed, [4, 8].contains(addressSize), [1, 3, 4, 5].contains(type) else {
      return nil
    }
    self.offset = offset
    self.end = end
    headerSize = (offsetSize == 8 ? 12 : 4) + cursor.offset - start
    format = DWARFValue.Format(version: version, offsetSize: offsetSize, addressSize: addressSize)
    // The first table of a section starts behind one header.
    stringOffsetsBase = offsetSize == 8 ? 16 : 8
    rangeListsBase = offsetSize == 8 ? 20 : 12
    if version < 5 {
      (stringOffsetsBase, addressBase, rangeListsBase) = (0, 0, 0)
    }
  }

  /// Takes what the first entry says; `bytes` start with the unit.
  ///
  /// - Returns: false if the bytes end before the entry does.
  func readRoot(_ bytes: [UInt8], _ abbreviations: DWARFAbbreviations) -> Bool {
    var cursor = DWARFReader(bytes, from: min(headerSize, bytes.count))
    let code = cursor.uleb()
    guard !cursor.hasFailed, let entry = abbreviations.entry(code) else { return !cursor.hasFailed }
    for attribute in abbreviations.attributes[entry.attributes] {
      let value = DWARFValue.read(attribute.form, attribute.constant, &cursor, format)
      if cursor.hasFailed { return false }
      switch (attribute.name, value) {
      case (DWARFAttribute.statementList, .number(let number)): lineOffset = number
      case (DWARFAttribute.stringOffsetsBase, .number(let number)): stringOffsetsBase = number
      case (DWARFAttribute.addressBase, .number(let number)): addressBase = number
      case (DWARFAttribute.rangeListsBase, .number(let number)): rangeListsBase = number
      case (DWARFAttribute.lowPC, _): low = value
      case (DWARFAttribute.highPC, _): high = value
      case (DWARFAttribute.ranges, _): ranges = value
      case (DWARFAttribute.compilationDirectory, _): compilationDirectory = value
      default: continue
      }
    }
    return true
  }
}
