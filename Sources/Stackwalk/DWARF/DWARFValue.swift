/// The value of an attribute, as far as it can be told without other sections.
///
/// Source: DWARF 5, 7.5.5 and 7.5.6.
enum DWARFValue {
  case address(UInt64)
  /// An index into the unit's part of `.debug_addr`.
  case addressIndex(UInt64)
  /// Constants, flags and offsets into other sections; a signed one is extended.
  case number(UInt64)
  /// An index into the unit's part of `.debug_rnglists`.
  case rangeListIndex(UInt64)
  /// A place in the unit's own bytes.
  case text(Range<Int>)
  case stringOffset(UInt64)
  case lineStringOffset(UInt64)
  case stringIndex(UInt64)
  /// An offset from the start of the unit.
  case unitReference(UInt64)
  /// An offset from the start of `.debug_info`.
  case reference(UInt64)
  /// A block, a location list, a type's signature, or something in a supplementary file.
  case other

  /// How the bytes of a unit are to be read.
  struct Format {
    var version: UInt16
    var offsetSize: Int
    var addressSize: Int
  }

  /// Bytes that a form takes; nil where the bytes themselves tell.
  static func width(of form: UInt64, offsetSize: Int, addressSize: Int) -> Int? {
    switch form {
    case DWARFForm.flagPresent, DWARFForm.implicitConst: 0
    case DWARFForm.data1, DWARFForm.flag, DWARFForm.ref1, DWARFForm.strx1, DWARFForm.addrx1: 1
    case DWARFForm.data2, DWARFForm.ref2, DWARFForm.strx2, DWARFForm.addrx2: 2
    case DWARFForm.strx3, DWARFForm.addrx3: 3
    case DWARFForm.data4, DWARFForm.ref4, DWARFForm.strx4, DWARFForm.addrx4, DWARFForm.refSup4: 4
    case DWARFForm.data8, DWARFForm.ref8, DWARFForm.refSig8, DWARFForm.refSup8: 8
    case DWARFForm.data16: 16
    case DWARFForm.addr: addressSize
    case DWARFForm.strp, DWARFForm.lineStrp, DWARFForm.secOffset, DWARFForm.strpSup,
      DWARFForm.gnuRefAlt, DWARFForm.gnuStrpAlt:
      offsetSize
    default: nil
    }
  }

  /// Passes a value; an unknown form fails the cursor, since nothing behind it can be found.
  static func skip(_ form: UInt64, _ cursor: inout DWARFReader, _ format: Format) {
    if let width = width(
      of: form, offsetSize: format.offsetSize, addressSize: format.addressSize)
    {
      cursor.skip(width)
      return
    }
    switch form {
    case DWARFForm.udata, DWARFForm.sdata, DWARFForm.refUdata, DWARFForm.strx, DWARFForm.addrx,
      DWARFForm.loclistx, DWARFForm.rnglistx, DWARFForm.gnuAddrIndex, DWARFForm.gnuStrIndex:
      _ = cursor.uleb()
    case DWARFForm.string: _ = cursor.textRange()
    default: _ = read(form, 0, &cursor, format)
    }
  }

  /// Reads a value; `constant` is the abbreviation's.
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
      // As wide as an address in DWARF 2.
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
      passOther(form, &cursor, format)
      return .other
    }
  }

  private static func passOther(
    _ form: UInt64, _ cursor: inout DWARFReader, _ format: Format
  ) {
    switch form {
    case DWARFForm.block1: cursor.skip(UInt64(cursor.u8()))
    case DWARFForm.block2: cursor.skip(UInt64(cursor.u16()))
    case DWARFForm.block4: cursor.skip(UInt64(cursor.unsigned(4)))
    case DWARFForm.block, DWARFForm.exprloc: cursor.skip(cursor.uleb())
    case DWARFForm.loclistx: _ = cursor.uleb()
    default:
      let width = width(of: form, offsetSize: format.offsetSize, addressSize: format.addressSize)
      if let width { cursor.skip(width) } else { cursor.fail() }
    }
  }
}
