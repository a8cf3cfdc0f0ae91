/// The numbers of DWARF that a reader of functions and lines needs.
///
/// Source: DWARF 5, 7.5.3 to 7.5.6, 7.22 and 7.25; the GNU ones from binutils' `include/dwarf2.def`.
enum DWARFTag {
  static let lexicalBlock: UInt64 = 0x0B
  static let compileUnit: UInt64 = 0x11
  static let inlinedSubroutine: UInt64 = 0x1D
  static let subprogram: UInt64 = 0x2E
  static let partialUnit: UInt64 = 0x3C
  static let skeletonUnit: UInt64 = 0x4A
}

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
  /// From before DWARF 4 had a number for it.
  static let mipsLinkageName: UInt64 = 0x2007
}

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
