internal import ProcessSnapshot

/// The header of one unit of `.debug_info`, and the attributes of the unit's first entry.
///
/// Source: DWARF 5, 7.5.1 and 3.1; DWARF 4, 7.5.1.
final class DWARFUnit {
  /// The header's offset from the start of `.debug_info`.
  let offset: UInt64
  /// The offset in `.debug_info` of the first byte after the unit.
  let end: UInt64
  let headerSize: Int
  let format: DWARFValue.Format
  let abbreviationOffset: UInt64

  // Attributes of the unit's first entry.
  var lineOffset: UInt64?
  var stringOffsetsBase: UInt64
  var addressBase: UInt64
  var rangeListsBase: UInt64
  var low: DWARFValue?
  var high: DWARFValue?
  var ranges: DWARFValue?
  var compilationDirectory: DWARFValue?
  /// The base address for address ranges that are stored as offsets.
  var baseAddress: Address = 0

  /// Reads the header of a unit; nil if the unit is not of DWARF 2 to 5, or is a type unit, which has no code.
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
      // Skip the ID that a skeleton unit shares with its split unit.
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
    // Without base attributes, the unit uses the first table of each section, whose entries follow the table's
    // header.
    (stringOffsetsBase, addressBase, rangeListsBase) =
      version < 5 ? (0, 0, 0) : offsetSize == 8 ? (16, 16, 20) : (8, 8, 12)
  }

  /// The code of the abbreviation of the unit's first entry; nil if the bytes end before it.
  func rootCode(_ bytes: [UInt8]) -> UInt64? {
    var cursor = DWARFReader(bytes, from: min(headerSize, bytes.count))
    let code = cursor.uleb()
    return cursor.hasFailed ? nil : code
  }

  /// Reads the attributes of the unit's first entry.
  ///
  /// - Parameter bytes: the bytes of the unit from its start.
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

/// All units of a file, and the address ranges of their code.
struct DWARFUnitIndex {
  private(set) var units: [DWARFUnit] = []
  private(set) var code = AddressMap<Int>([])

  /// The maximum number of units; if a file has more, the rest is ignored.
  private static let maximumCount = 1 << 18
  /// The approximate number of bytes that one unit takes in memory.
  private static let unitCost = 320

  init(_ ranges: DWARFRanges, abbreviations: DWARFAbbreviationCache, limit: WorkLimit) {
    guard let info = ranges.sections.info else { return }
    var offset: UInt64 = 0
    var found: [AddressMap<Int>.Entry] = []
    var bare: [UInt64: Int] = [:]
    while units.count < Self.maximumCount, limit.spend(64),
      let start = info.prefix(at: offset, count: 512)
    {
      var cursor = DWARFReader(start)
      guard let (length, offsetSize) = cursor.initialLength() else { break }
      let (end, overflow) = (offset &+ (offsetSize == 8 ? 12 : 4)).addingReportingOverflow(length)
      guard !overflow, length > 0, end <= info.size else { break }
      defer { offset = end }
      guard
        let unit = DWARFUnit(at: offset, end: end, header: &cursor, offsetSize: offsetSize)
      else { continue }
      guard limit.take(Self.unitCost) else { break }
      units.append(unit)
      Self.readRoot(of: unit, start, info, abbreviations)
      unit.baseAddress = ranges.address(unit.low, in: unit) ?? 0
      let lies = ranges.ranges(low: unit.low, high: unit.high, list: unit.ranges, in: unit)
      if lies.isEmpty { bare[unit.offset] = units.count - 1 }
      guard limit.take(lies.count * AddressMap<Int>.entryCost) else { break }
      for range in lies { found.append(.init(range: range, payload: units.count - 1)) }
    }
    Self.addRanges(of: bare, from: ranges, to: &found)
    code = AddressMap(found)
  }

  private static func readRoot(
    of unit: DWARFUnit, _ start: [UInt8], _ info: DebugSection,
    _ abbreviations: DWARFAbbreviationCache
  ) {
    let size = unit.end &- unit.offset
    let bytes = Array(start.prefix(Int(clamping: size)))
    guard let code = unit.rootCode(bytes), let table = abbreviations.root(of: unit, code)
    else { return }
    if unit.readRoot(bytes, table) { return }
    // The first entry does not fit in 512 bytes, for example because it contains long paths, so up to 256 KiB are read.
    if let more = info.bytes(at: unit.offset, count: Int(clamping: min(size, 1 << 18))) {
      _ = unit.readRoot(more, table)
    }
  }

  /// Finds the unit that contains an offset of `.debug_info`.
  func unit(holding offset: UInt64) -> DWARFUnit? {
    let index = units.partitioningIndex { $0.offset > offset } - 1
    return index >= 0 && offset < units[index].end ? units[index] : nil
  }

  /// Adds address ranges from `.debug_aranges` for units without ranges in their first entries.
  ///
  /// Source: DWARF 5, 6.1.2.
  private static func addRanges(
    of units: [UInt64: Int], from ranges: DWARFRanges, to found: inout [AddressMap<Int>.Entry]
  ) {
    guard !units.isEmpty, let section = ranges.sections.addressRanges else { return }
    var offset: UInt64 = 0
    while ranges.limit.spend(16), let start = section.prefix(at: offset, count: 12) {
      var cursor = DWARFReader(start)
      guard let (length, offsetSize) = cursor.initialLength(), length <= 64 << 20,
        let bytes = section.bytes(
          at: offset, count: Int(clamping: length) + (offsetSize == 8 ? 12 : 4))
      else { return }
      offset &+= UInt64(bytes.count)
      var set = DWARFReader(bytes, from: offsetSize == 8 ? 12 : 4)
      // Skip the version.
      _ = set.u16()
      let unit = units[set.unsigned(offsetSize)]
      let width = Int(set.u8())
      guard let unit, set.u8() == 0, [4, 8].contains(width) else { continue }
      set.seek(to: (set.offset + 2 * width - 1) / (2 * width) * (2 * width))
      while !set.isAtEnd, ranges.limit.step() {
        let low = set.unsigned(width)
        let size = set.unsigned(width)
        guard !set.hasFailed, low != 0 || size != 0 else { break }
        let range = AddressRange(start: Address(low), byteCount: size)
        if range.byteCount == size, ranges.code.contains(range.start) {
          guard ranges.limit.take(AddressMap<Int>.entryCost) else { return }
          found.append(.init(range: range, payload: unit))
        }
      }
    }
  }
}

/// Reads the addresses and address ranges of debugging information entries.
///
/// Source: DWARF 5, 2.17, 7.25 and 7.27; DWARF 4, 2.17.3.
struct DWARFRanges {
  let sections: DWARFSections
  /// The segments with code; a range outside these segments belongs to code that the linker has removed.
  let code: AddressSet
  let limit: WorkLimit

  /// The maximum number of ranges in one list; a longer list is cut.
  private static let maximumCount = 1 << 18

  func address(_ value: DWARFValue?, in unit: DWARFUnit) -> Address? {
    switch value {
    case .address(let address): Address(address)
    case .addressIndex(let index): address(index: index, in: unit)
    default: nil
    }
  }

  private func address(index: UInt64, in unit: DWARFUnit) -> Address? {
    let width = unit.format.addressSize
    let (offset, overflow) = index.multipliedReportingOverflow(by: UInt64(width))
    guard !overflow else { return nil }
    return sections.addresses?.integer(at: unit.addressBase &+ offset, width: width)
      .map { Address($0) }
  }

  /// Reads the address ranges of an entry, from DW_AT_low_pc and DW_AT_high_pc or from a list.
  func ranges(
    low: DWARFValue?, high: DWARFValue?, list: DWARFValue?, in unit: DWARFUnit
  ) -> [AddressRange] {
    var found: [AddressRange] = []
    switch list {
    case .number(let offset):
      unit.format.version < 5
        ? readOldList(at: offset, in: unit, into: &found)
        : readList(at: offset, in: unit, into: &found)
    case .rangeListIndex(let index):
      let width = unit.format.offsetSize
      let place = unit.rangeListsBase &+ index &* UInt64(width)
      if let offset = sections.rangeLists?.integer(at: place, width: width) {
        readList(at: unit.rangeListsBase &+ offset, in: unit, into: &found)
      }
    default:
      guard let start = address(low, in: unit) else { break }
      switch high {
      case .number(let size): add(start, start &+ size, to: &found)
      case .some: if let end = address(high, in: unit) { add(start, end, to: &found) }
      case nil: break
      }
    }
    return found
  }

  /// Checks whether the ranges of an entry contain an address; nil for an entry without ranges.
  func covers(
    _ address: Address, low: DWARFValue?, high: DWARFValue?, list: DWARFValue?, in unit: DWARFUnit
  ) -> Bool? {
    // The most frequent case, a single range, is checked without making a list.
    if list == nil, let start = self.address(low, in: unit), case .number(let size)? = high {
      return AddressRange(start: start, byteCount: size).contains(address)
    }
    let lies = ranges(low: low, high: high, list: list, in: unit)
    return lies.isEmpty ? nil : lies.contains { $0.contains(address) }
  }

  private func add(_ low: Address, _ high: Address, to found: inout [AddressRange]) {
    guard low < high, code.contains(low) else { return }
    found.append(AddressRange(from: low, to: high))
  }

  private func readOldList(at start: UInt64, in unit: DWARFUnit, into found: inout [AddressRange]) {
    let width = unit.format.addressSize
    let escape = width == 8 ? UInt64.max : UInt64(UInt32.max)
    var base = unit.baseAddress
    var offset = start
    for _ in 0..<Self.maximumCount {
      guard limit.step(), let low = sections.ranges?.integer(at: offset, width: width),
        let high = sections.ranges?.integer(at: offset &+ UInt64(width), width: width)
      else { return }
      offset &+= UInt64(2 * width)
      if low == 0, high == 0 { return }
      if low == escape { base = Address(high) } else { add(base &+ low, base &+ high, to: &found) }
    }
  }

  private func readList(at start: UInt64, in unit: DWARFUnit, into found: inout [AddressRange]) {
    guard let section = sections.rangeLists else { return }
    // Start with 1 KiB, because a list rarely takes more than a few hundred bytes.
    var count = 1 << 10
    while count <= 1 << 22 {
      guard let bytes = section.prefix(at: start, count: count), limit.spend(bytes.count / 16)
      else { return }
      var cursor = DWARFReader(bytes)
      let known = found.count
      if readEntries(&cursor, in: unit, into: &found) || bytes.count < count { return }
      found.removeLast(found.count - known)
      count *= 16
    }
  }

  /// Reads a list of ranges; returns false if the bytes end before the list does.
  private func readEntries(
    _ cursor: inout DWARFReader, in unit: DWARFUnit, into found: inout [AddressRange]
  ) -> Bool {
    let width = unit.format.addressSize
    var base = unit.baseAddress
    while limit.step(), found.count < Self.maximumCount {
      let kind = cursor.u8()
      var range: (low: Address?, high: Address?) = (nil, nil)
      switch kind {
      case 0: return !cursor.hasFailed  // DW_RLE_end_of_list
      case 1:  // DW_RLE_base_addressx
        base = address(index: cursor.uleb(), in: unit) ?? 0
      case 2:  // DW_RLE_startx_endx
        range = (address(index: cursor.uleb(), in: unit), address(index: cursor.uleb(), in: unit))
      case 3:  // DW_RLE_startx_length
        let low = address(index: cursor.uleb(), in: unit)
        let size = cursor.uleb()
        range = (low, low.map { $0 &+ size })
      case 4: range = (base &+ cursor.uleb(), base &+ cursor.uleb())  // DW_RLE_offset_pair
      case 5:  // DW_RLE_base_address
        base = Address(cursor.unsigned(width))
      case 6:  // DW_RLE_start_end
        range = (Address(cursor.unsigned(width)), Address(cursor.unsigned(width)))
      case 7:  // DW_RLE_start_length
        let low = Address(cursor.unsigned(width))
        range = (low, low &+ cursor.uleb())
      default: return true
      }
      if cursor.hasFailed { return false }
      if let low = range.low, let high = range.high { add(low, high, to: &found) }
    }
    return true
  }
}
