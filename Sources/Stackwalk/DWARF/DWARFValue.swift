/// The value of an attribute, before a reference to another section is followed.
///
/// Source: DWARF 5, 7.5.5 and 7.5.6.
enum DWARFValue {
  case address(UInt64)
  /// An index into the unit's part of `.debug_addr`.
  case addressIndex(UInt64)
  /// A constant (sign-extended if it is signed), a flag, or an offset into another section.
  case number(UInt64)
  /// An index into the unit's part of `.debug_rnglists`.
  case rangeListIndex(UInt64)
  /// Text in the unit itself, as a range of the unit's bytes.
  case text(Range<Int>)
  case stringOffset(UInt64)
  case lineStringOffset(UInt64)
  case stringIndex(UInt64)
  /// A reference to an entry, as an offset from the start of the unit.
  case unitReference(UInt64)
  /// A reference to an entry, as an offset from the start of `.debug_info`.
  case reference(UInt64)
  /// Any other value, such as a block, the index of a location list, or a reference to a supplementary file.
  case other

  /// The fields of a unit's header on which the encoding of values depends.
  struct Format {
    var version: UInt16
    var offsetSize: Int
    var addressSize: Int
  }

  /// Returns the size in bytes of a value of the given form; nil if the form is unknown or has a variable size.
  static func width(of form: UInt64, _ format: Format) -> Int? {
    switch form {
    case DWARFForm.flagPresent, DWARFForm.implicitConst: 0
    case DWARFForm.data1, DWARFForm.flag, DWARFForm.ref1, DWARFForm.strx1, DWARFForm.addrx1: 1
    case DWARFForm.data2, DWARFForm.ref2, DWARFForm.strx2, DWARFForm.addrx2: 2
    case DWARFForm.strx3, DWARFForm.addrx3: 3
    case DWARFForm.data4, DWARFForm.ref4, DWARFForm.strx4, DWARFForm.addrx4, DWARFForm.refSup4: 4
    case DWARFForm.data8, DWARFForm.ref8, DWARFForm.refSig8, DWARFForm.refSup8: 8
    case DWARFForm.data16: 16
    case DWARFForm.addr: format.addressSize
    case DWARFForm.strp, DWARFForm.lineStrp, DWARFForm.secOffset, DWARFForm.strpSup,
      DWARFForm.gnuRefAlt, DWARFForm.gnuStrpAlt:
      format.offsetSize
    default: nil
    }
  }

  /// Skips a value; fails for an unknown form, because the end of the value cannot be found.
  static func skip(_ form: UInt64, _ cursor: inout DWARFReader, _ format: Format) {
    if let width = width(of: form, format) { return cursor.skip(width) }
    switch form {
    case DWARFForm.udata, DWARFForm.sdata, DWARFForm.refUdata, DWARFForm.strx, DWARFForm.addrx,
      DWARFForm.loclistx, DWARFForm.rnglistx, DWARFForm.gnuAddrIndex, DWARFForm.gnuStrIndex:
      _ = cursor.uleb()
    case DWARFForm.string: _ = cursor.textRange()
    case DWARFForm.block1: cursor.skip(UInt64(cursor.u8()))
    case DWARFForm.block2: cursor.skip(UInt64(cursor.u16()))
    case DWARFForm.block4: cursor.skip(cursor.unsigned(4))
    case DWARFForm.block, DWARFForm.exprloc: cursor.skip(cursor.uleb())
    case DWARFForm.refAddr, DWARFForm.indirect: _ = read(form, 0, &cursor, format)
    default: cursor.fail()
    }
  }

  /// Reads a value.
  ///
  /// - Parameter constant: the value in the abbreviation, which is used for DW_FORM_implicit_const.
  static func read(
    _ form: UInt64, _ constant: Int64, _ cursor: inout DWARFReader, _ format: Format
  ) -> DWARFValue {
    switch form {
    case DWARFForm.addr: return .address(cursor.unsigned(format.addressSize))
    case DWARFForm.addrx, DWARFForm.gnuAddrIndex: return .addressIndex(cursor.uleb())
    case DWARFForm.addrx1, DWARFForm.addrx2, DWARFForm.addrx3, DWARFForm.addrx4:
      return .addressIndex(cursor.unsigned(Int(truncatingIfNeeded: form &- DWARFForm.addrx1) + 1))
    case DWARFForm.data1, DWARFForm.flag: return .number(UInt64(cursor.u8()))
    case DWARFForm.data2: return .number(cursor.unsigned(2))
    case DWARFForm.data4: return .number(cursor.unsigned(4))
    case DWARFForm.data8: return .number(cursor.unsigned(8))
    case DWARFForm.udata: return .number(cursor.uleb())
    case DWARFForm.sdata: return .number(UInt64(bitPattern: cursor.sleb()))
    case DWARFForm.flagPresent: return .number(1)
    case DWARFForm.implicitConst: return .number(UInt64(bitPattern: constant))
    case DWARFForm.secOffset: return .number(cursor.unsigned(format.offsetSize))
    case DWARFForm.rnglistx: return .rangeListIndex(cursor.uleb())
    case DWARFForm.string: return .text(cursor.textRange())
    case DWARFForm.strp: return .stringOffset(cursor.unsigned(format.offsetSize))
    case DWARFForm.lineStrp: return .lineStringOffset(cursor.unsigned(format.offsetSize))
    case DWARFForm.strx, DWARFForm.gnuStrIndex: return .stringIndex(cursor.uleb())
    case DWARFForm.strx1, DWARFForm.strx2, DWARFForm.strx3, DWARFForm.strx4:
      return .stringIndex(cursor.unsigned(Int(truncatingIfNeeded: form &- DWARFForm.strx1) + 1))
    case DWARFForm.ref1: return .unitReference(cursor.unsigned(1))
    case DWARFForm.ref2: return .unitReference(cursor.unsigned(2))
    case DWARFForm.ref4: return .unitReference(cursor.unsigned(4))
    case DWARFForm.ref8: return .unitReference(cursor.unsigned(8))
    case DWARFForm.refUdata: return .unitReference(cursor.uleb())
    case DWARFForm.refAddr:
      // In DWARF 2, this reference has the size of an address; since DWARF 3, it has the size of an offset.
      return .reference(
        cursor.unsigned(format.version < 3 ? format.addressSize : format.offsetSize))
    case DWARFForm.indirect:
      let actual = cursor.uleb()
      guard actual != DWARFForm.indirect, actual != DWARFForm.implicitConst else {
        cursor.fail()
        return .other
      }
      return read(actual, 0, &cursor, format)
    default:
      skip(form, &cursor, format)
      return .other
    }
  }
}

/// The tags of entries that can contain code.
///
/// Source: DWARF 5, 7.5.3.
enum DWARFTag {
  static let lexicalBlock: UInt64 = 0x0B
  static let inlinedSubroutine: UInt64 = 0x1D
  static let subprogram: UInt64 = 0x2E
}

/// Attributes of functions and units.
///
/// Source: DWARF 5, 7.5.4; binutils' `include/dwarf2.def` for DW_AT_MIPS_linkage_name.
enum DWARFAttribute {
  static let sibling: UInt64 = 0x01
  static let name: UInt64 = 0x03
  static let statementList: UInt64 = 0x10
  static let lowPC: UInt64 = 0x11
  static let highPC: UInt64 = 0x12
  static let compilationDirectory: UInt64 = 0x1B
  static let abstractOrigin: UInt64 = 0x31
  static let specification: UInt64 = 0x47
  static let ranges: UInt64 = 0x55
  static let callColumn: UInt64 = 0x57
  static let callFile: UInt64 = 0x58
  static let callLine: UInt64 = 0x59
  static let linkageName: UInt64 = 0x6E
  static let stringOffsetsBase: UInt64 = 0x72
  static let addressBase: UInt64 = 0x73
  static let rangeListsBase: UInt64 = 0x74
  /// The attribute that GCC used for a linkage name before DWARF 4.
  static let mipsLinkageName: UInt64 = 0x2007
}

/// The codes of the forms in which attribute values are encoded.
///
/// Source: DWARF 5, 7.5.6; binutils' `include/dwarf2.def` for the GNU extensions.
enum DWARFForm {
  static let addr: UInt64 = 0x01
  static let block2: UInt64 = 0x03
  static let block4: UInt64 = 0x04
  static let data2: UInt64 = 0x05
  static let data4: UInt64 = 0x06
  static let data8: UInt64 = 0x07
  static let string: UInt64 = 0x08
  static let block: UInt64 = 0x09
  static let block1: UInt64 = 0x0A
  static let data1: UInt64 = 0x0B
  static let flag: UInt64 = 0x0C
  static let sdata: UInt64 = 0x0D
  static let strp: UInt64 = 0x0E
  static let udata: UInt64 = 0x0F
  static let refAddr: UInt64 = 0x10
  static let ref1: UInt64 = 0x11
  static let ref2: UInt64 = 0x12
  static let ref4: UInt64 = 0x13
  static let ref8: UInt64 = 0x14
  static let refUdata: UInt64 = 0x15
  static let indirect: UInt64 = 0x16
  static let secOffset: UInt64 = 0x17
  static let exprloc: UInt64 = 0x18
  static let flagPresent: UInt64 = 0x19
  static let strx: UInt64 = 0x1A
  static let addrx: UInt64 = 0x1B
  static let refSup4: UInt64 = 0x1C
  static let strpSup: UInt64 = 0x1D
  static let data16: UInt64 = 0x1E
  static let lineStrp: UInt64 = 0x1F
  static let refSig8: UInt64 = 0x20
  static let implicitConst: UInt64 = 0x21
  static let loclistx: UInt64 = 0x22
  static let rnglistx: UInt64 = 0x23
  static let refSup8: UInt64 = 0x24
  static let strx1: UInt64 = 0x25
  static let strx2: UInt64 = 0x26
  static let strx3: UInt64 = 0x27
  static let strx4: UInt64 = 0x28
  static let addrx1: UInt64 = 0x29
  static let addrx2: UInt64 = 0x2A
  static let addrx3: UInt64 = 0x2B
  static let addrx4: UInt64 = 0x2C
  static let gnuAddrIndex: UInt64 = 0x1F01
  static let gnuStrIndex: UInt64 = 0x1F02
  static let gnuRefAlt: UInt64 = 0x1F20
  static let gnuStrpAlt: UInt64 = 0x1F21
}
