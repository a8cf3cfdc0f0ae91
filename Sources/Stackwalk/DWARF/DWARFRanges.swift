internal import ProcessSnapshot

/// Addresses and address ranges of entries.
///
/// Source: DWARF 5, 2.17, 7.25 and 7.27; DWARF 4, 2.17.3.
struct DWARFRanges {
  let sections: DWARFSections
  /// Segments with code: what the linker threw away it marks with an address outside.
  let code: [AddressRange]

  /// More ranges than any function or unit has; a list is cut there.
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

  /// Where an entry's code lies: between low and high, or in a list.
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

  /// Whether an entry's code is around an address; nil for an entry that does not say where it is.
  func covers(
    _ address: Address, low: DWARFValue?, high: DWARFValue?, list: DWARFValue?, in unit: DWARFUnit
  ) -> Bool? {
    // The most frequent form, told without making a list.
    if list == nil, let start = self.address(low, in: unit), case .number(let size)? = high {
      return AddressRange(start: start, byteCount: size).contains(address)
    }
    let lies = ranges(low: low, high: high, list: list, in: unit)
    return lies.isEmpty ? nil : lies.contains { $0.contains(address) }
  }

  private func add(_ low: Address, _ high: Address, to found: inout [AddressRange]) {
    guard low < high, code.contains(where: { $0.contains(low) }) else { return }
    found.append(AddressRange(from: low, to: high))
  }

  private func readOldList(at start: UInt64, in unit: DWARFUnit, into found: inout [AddressRange]) {
    let width = unit.format.addressSize
    let escape = width == 8 ? UInt64.max : UInt64(UInt32.max)
    var base = unit.baseAddress
    var offset = start
    for _ in 0..<Self.maximumCount {
      guard let low = sections.ranges?.integer(at: offset, width: width),
        let high = sections.ranges?.integer(at: offset &+ UInt64(width), width: width)
      else { return }
      offset &+= UInt64(2 * width)
      if low == 0, high == 0 { return }
      if low == escape { base = Address(high) } else { add(base &+ low, base &+ high, to: &found) }
    }
  }

  private func readList(at start: UInt64, in unit: DWARFUnit, into found: inout [AddressRange]) {
    guard let section = sections.rangeLists else { return }
    // A piece at a time; a list rarely takes more than a few hundred bytes.
    var count = 1 << 10
    while count <= 1 << 24 {
      guard let bytes = section.prefix(at: start, count: count) else { return }
      var cursor = DWARFReader(bytes)
      let known = found.count
      if readEntries(&cursor, in: unit, into: &found) || bytes.count < count { return }
      found.removeLast(found.count - known)
      count *= 16
    }
  }

  /// False if the bytes ended before the list did.
  private func readEntries(
    _ cursor: inout DWARFReader, in unit: DWARFUnit, into found: inout [AddressRange]
  ) -> Bool {
    let width = unit.format.addressSize
    var base = unit.baseAddress
    while true {
      let kind = cursor.u8()
      var range: (low: Address?, high: Address?)
      switch kind {
      case 0: return !cursor.hasFailed
      case 1:
        base = address(index: cursor.uleb(), in: unit) ?? 0
        range = (nil, nil)
      case 2:
        range = (address(index: cursor.uleb(), in: unit), address(index: cursor.uleb(), in: unit))
      case 3:
        let low = address(index: cursor.uleb(), in: unit)
        let size = cursor.uleb()
        range = (low, low.map { $0 &+ size })
      case 4: range = (base &+ cursor.uleb(), base &+ cursor.uleb())
      case 5:
        base = Address(cursor.unsigned(width))
        range = (nil, nil)
      case 6: range = (Address(cursor.unsigned(width)), Address(cursor.unsigned(width)))
      case 7:
        let low = Address(cursor.unsigned(width))
        range = (low, low &+ cursor.uleb())
      default: return true
      }
      if cursor.hasFailed { return false }
      if let low = range.low, let high = range.high { add(low, high, to: &found) }
    }
  }
}
