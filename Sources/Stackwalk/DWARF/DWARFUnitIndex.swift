internal import ProcessSnapshot

/// All units of a file and where their code lies; made once, from the first entry of each.
///
/// Takes some 200 bytes a unit.
struct DWARFUnitIndex {
  private(set) var units: [DWARFUnit] = []
  private(set) var code = AddressMap<Int>([])

  /// More units than any program has.
  private static let maximumCount = 1 << 18
  /// More ranges than any program has.
  private static let maximumRangeCount = 1 << 22

  init(_ ranges: DWARFRanges, abbreviations: DWARFAbbreviationCache, limit: WorkLimit) {
    guard let info = ranges.sections.info else { return }
    var offset: UInt64 = 0
    var found: [AddressMap<Int>.Entry] = []
    var bare: [UInt64: Int] = [:]
    while units.count < Self.maximumCount, !limit.isReached,
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
      units.append(unit)
      Self.readRoot(of: unit, start, info, abbreviations)
      unit.baseAddress = ranges.address(unit.low, in: unit) ?? 0
      let lies = ranges.ranges(low: unit.low, high: unit.high, list: unit.ranges, in: unit)
      if lies.isEmpty { bare[unit.offset] = units.count - 1 }
      guard found.count + lies.count <= Self.maximumRangeCount else { continue }
      for range in lies {
        found.append(.init(range: range, payload: units.count - 1))
      }
    }
    Self.addRanges(of: bare, from: ranges, to: &found)
    code = AddressMap(found)
  }

  private static func readRoot(
    of unit: DWARFUnit, _ start: [UInt8], _ info: DebugSection,
    _ abbreviations: DWARFAbbreviationCache
  ) {
    guard let table = abbreviations.table(of: unit) else { return }
    let size = unit.end &- unit.offset
    if unit.readRoot(Array(start.prefix(Int(clamping: size))), table) { return }
    // Long paths in the entry itself.
    if let more = info.bytes(at: unit.offset, count: Int(clamping: min(size, 1 << 18))) {
      _ = unit.readRoot(more, table)
    }
  }

  /// The unit whose bytes hold an offset of `.debug_info`.
  func unit(holding offset: UInt64) -> DWARFUnit? {
    var low = 0
    var high = units.count
    while low < high {
      let middle = (low + high) / 2
      if units[middle].offset <= offset { low = middle + 1 } else { high = middle }
    }
    guard low > 0, offset < units[low - 1].end else { return nil }
    return units[low - 1]
  }

  /// Takes from `.debug_aranges` where units lie that do not say it themselves.
  ///
  /// Source: DWARF 5, 6.1.2.
  private static func addRanges(
    of units: [UInt64: Int], from ranges: DWARFRanges, to found: inout [AddressMap<Int>.Entry]
  ) {
    guard !units.isEmpty, let section = ranges.sections.addressRanges else { return }
    var offset: UInt64 = 0
    while let start = section.prefix(at: offset, count: 12) {
      var cursor = DWARFReader(start)
      guard let (length, offsetSize) = cursor.initialLength(), length <= 64 << 20,
        let bytes = section.bytes(
          at: offset, count: Int(clamping: length) + (offsetSize == 8 ? 12 : 4))
      else { return }
      offset &+= UInt64(bytes.count)
      var set = DWARFReader(bytes, from: offsetSize == 8 ? 12 : 4)
      // Version.
      _ = set.u16()
      let unit = units[set.unsigned(offsetSize)]
      let width = Int(set.u8())
      guard let unit, set.u8() == 0, [4, 8].contains(width) else { continue }
      set.seek(to: (set.offset + 2 * width - 1) / (2 * width) * (2 * width))
      while !set.isAtEnd, found.count < maximumRangeCount {
        let low = set.unsigned(width)
        let size = set.unsigned(width)
        guard !set.hasFailed, low != 0 || size != 0 else { break }
        let range = AddressRange(start: Address(low), byteCount: size)
        if range.byteCount == size, ranges.code.contains(where: { $0.contains(range.start) }) {
          found.append(.init(range: range, payload: unit))
        }
      }
    }
  }
}

/// The tables of abbreviations that were read; units share them.
final class DWARFAbbreviationCache {
  private struct Key: Hashable {
    let offset: UInt64
    let offsetSize: Int
    let addressSize: Int
  }

  private let section: DebugSection?
  private var tables: [Key: DWARFAbbreviations] = [:]
  private var cost = 0
  private static let maximumCost = 16 << 20

  init(_ section: DebugSection?) { self.section = section }

  func table(of unit: DWARFUnit) -> DWARFAbbreviations? {
    let key = Key(
      offset: unit.abbreviationOffset, offsetSize: unit.format.offsetSize,
      addressSize: unit.format.addressSize)
    if let known = tables[key] { return known }
    guard let section,
      let table = DWARFAbbreviations(
        of: section, at: key.offset, offsetSize: key.offsetSize, addressSize: key.addressSize)
    else { return nil }
    if cost + table.cost > Self.maximumCost {
      tables = [:]
      cost = 0
    }
    cost += table.cost
    tables[key] = table
    return table
  }
}
