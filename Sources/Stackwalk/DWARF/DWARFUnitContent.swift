internal import ProcessSnapshot

/// The entries of one unit, and the address ranges of its functions.
final class DWARFUnitContent {
  let unit: DWARFUnit
  /// The bytes of the whole unit, including its header.
  let bytes: [UInt8]
  let abbreviations: DWARFAbbreviations
  private(set) var functions = AddressMap<Int>([])

  init(unit: DWARFUnit, bytes: [UInt8], abbreviations: DWARFAbbreviations) {
    self.unit = unit
    self.bytes = bytes
    self.abbreviations = abbreviations
  }

  /// The number of bytes that the list of functions' address ranges takes; these bytes count toward the memory limit.
  private(set) var functionCost = 0
  /// The maximum depth of inlined calls that are shown; compilers produce a few dozen levels at most.
  static let maximumCalls = 256

  /// The attributes of an entry that give the name, the addresses and the call site of code.
  struct DIE {
    var tag: UInt64 = 0
    var hasChildren = false
    var name: DWARFValue?
    var linkageName: DWARFValue?
    /// A reference to the entry with the other attributes: DW_AT_abstract_origin, otherwise DW_AT_specification.
    var origin: DWARFValue?
    var low: DWARFValue?
    var high: DWARFValue?
    var ranges: DWARFValue?
    var sibling: DWARFValue?
    var callFile: UInt64?
    var callLine: UInt64?
    var callColumn: UInt64?
  }

  /// Reads the attributes of an entry; `cursor` is right after the entry's abbreviation code.
  func die(_ entry: DWARFAbbreviations.Entry, _ cursor: inout DWARFReader) -> DIE {
    var die = DIE(tag: entry.tag, hasChildren: entry.hasChildren)
    for index in entry.attributes {
      let attribute = abbreviations.attributes[index]
      let value = DWARFValue.read(attribute.form, attribute.constant, &cursor, unit.format)
      if cursor.hasFailed { return die }
      switch attribute.name {
      case DWARFAttribute.name: die.name = value
      case DWARFAttribute.linkageName, DWARFAttribute.mipsLinkageName: die.linkageName = value
      case DWARFAttribute.abstractOrigin: die.origin = value
      case DWARFAttribute.specification: if die.origin == nil { die.origin = value }
      case DWARFAttribute.lowPC: die.low = value
      case DWARFAttribute.highPC: die.high = value
      case DWARFAttribute.ranges: die.ranges = value
      case DWARFAttribute.sibling: die.sibling = value
      case DWARFAttribute.callFile: if case .number(let number) = value { die.callFile = number }
      case DWARFAttribute.callLine: if case .number(let number) = value { die.callLine = number }
      case DWARFAttribute.callColumn:
        if case .number(let number) = value { die.callColumn = number }
      default: continue
      }
    }
    return die
  }

  /// Skips the attributes of an entry; `cursor` is right after the entry's abbreviation code.
  func skip(_ entry: DWARFAbbreviations.Entry, _ cursor: inout DWARFReader) {
    if let size = entry.size { return cursor.skip(size) }
    for index in entry.attributes {
      DWARFValue.skip(abbreviations.attributes[index].form, &cursor, unit.format)
      if cursor.hasFailed { return }
    }
  }

  /// Reads the entry at an offset from the unit's start; nil for a null entry or a damaged one.
  func die(at offset: Int) -> DIE? {
    var cursor = DWARFReader(bytes, from: offset)
    guard offset >= unit.headerSize, let entry = abbreviations.entry(cursor.uleb()) else {
      return nil
    }
    let die = die(entry, &cursor)
    return cursor.hasFailed ? nil : die
  }

  /// Finds the functions that have code, up to the first damaged entry or until a limit is reached.
  func findFunctions(_ ranges: DWARFRanges, _ limit: WorkLimit) {
    var found: [AddressMap<Int>.Entry] = []
    var cursor = DWARFReader(bytes, from: unit.headerSize)
    while !cursor.isAtEnd, limit.step() {
      let offset = cursor.offset
      let number = cursor.uleb()
      if number == 0 { continue }
      guard let entry = abbreviations.entry(number) else { break }
      guard entry.tag == DWARFTag.subprogram else {
        skip(entry, &cursor)
        continue
      }
      let die = die(entry, &cursor)
      guard !cursor.hasFailed, die.low != nil || die.ranges != nil else { continue }
      // `spend` also checks the clock, so that the loop ends at the time limit; `step` only counts.
      guard limit.spend(entry.attributes.count) else { break }
      let own = ranges.ranges(low: die.low, high: die.high, list: die.ranges, in: unit)
      let cost = own.count * AddressMap<Int>.entryCost
      guard limit.take(cost) else { break }
      functionCost += cost
      for range in own { found.append(.init(range: range, payload: offset)) }
    }
    functions = AddressMap(found)
  }

  /// Finds the function and the inlined calls that contain an address, from the function to the innermost call.
  ///
  /// - Parameter function: the function's offset from the unit's start.
  func calls(
    at address: Address, in function: Int, _ ranges: DWARFRanges, _ limit: WorkLimit
  ) -> [DIE] {
    var cursor = DWARFReader(bytes, from: function)
    guard let entry = abbreviations.entry(cursor.uleb()) else { return [] }
    var chain = [die(entry, &cursor)]
    guard entry.hasChildren else { return chain }
    // `depth` is the level of the next entry, counted from the function; `floor` is the level of the entries inside
    // the last call of the chain.
    var depth = 1
    var floor = 1
    while depth >= floor, !cursor.isAtEnd, chain.count < Self.maximumCalls {
      let number = cursor.uleb()
      if number == 0 {
        depth -= 1
        continue
      }
      guard let entry = abbreviations.entry(number), limit.spend(1 + entry.attributes.count)
      else { break }
      switch entry.tag {
      case DWARFTag.inlinedSubroutine, DWARFTag.lexicalBlock:
        let die = die(entry, &cursor)
        let isInlined = entry.tag == DWARFTag.inlinedSubroutine
        // Old compilers write blocks that have no ranges and only group entries, so a block without ranges counts as
        // containing the address.
        let isAround =
          ranges.covers(address, low: die.low, high: die.high, list: die.ranges, in: unit)
          ?? !isInlined
        if isAround, isInlined { chain.append(die) }
        guard entry.hasChildren else {
          if isAround, isInlined { return chain }
          continue
        }
        if isAround {
          depth += 1
          if isInlined { floor = depth }
        } else {
          skipChildren(of: die, &cursor, limit)
        }
      default:
        guard entry.hasChildren else {
          skip(entry, &cursor)
          continue
        }
        skipChildren(of: die(entry, &cursor), &cursor, limit)
      }
    }
    return chain
  }

  /// Skips all entries below an entry.
  func skipChildren(
    of die: DIE, _ cursor: inout DWARFReader, _ limit: WorkLimit
  ) {
    if case .unitReference(let offset)? = die.sibling, let target = Int(exactly: offset),
      target > cursor.offset, target < bytes.count
    {
      return cursor.seek(to: target)
    }
    var depth = 1
    while depth > 0, !cursor.isAtEnd, limit.step() {
      let number = cursor.uleb()
      if number == 0 {
        depth -= 1
        continue
      }
      guard let entry = abbreviations.entry(number) else { return cursor.fail() }
      skip(entry, &cursor)
      if entry.hasChildren { depth += 1 }
    }
  }
}

/// One table of abbreviations, which maps an abbreviation code to the attributes and forms of an entry.
///
/// Source: DWARF 5, 7.5.3.
final class DWARFAbbreviations {
  struct Attribute {
    var name: UInt64
    var form: UInt64
    /// The value of the attribute if its form is DW_FORM_implicit_const.
    var constant: Int64
  }

  struct Entry {
    var tag: UInt64
    var hasChildren: Bool
    /// The range of the entry's attributes in the table's `attributes`.
    var attributes: Range<Int>
    /// The number of bytes of all attributes; nil if an attribute has a variable size.
    ///
    /// With this number, an entry can be skipped in one step.
    var size: Int?
  }

  private(set) var attributes: [Attribute] = []
  /// The entry with code n is at index n - 1, because writers number the codes from 1; `sparse` has all other entries.
  private var dense: [Entry] = []
  private var sparse: [UInt64: Entry] = [:]

  /// An upper limit for the number of bytes that are read of one abbreviation table; a larger table is not read to its
  /// end.
  private static let maximumSize = 1 << 19
  /// The maximum number of attributes of an entry; an entry with more is treated as damaged.
  ///
  /// Without this limit, attributes that take no bytes in the unit could cause much work in a small file.
  private static let maximumAttributes = 128

  /// Reads the table at an offset, up to the first damaged entry; nil if there is no table or `limit` is used up.
  ///
  /// - Parameter last: a code after whose entry nothing is read; nil for the whole table.
  init?(
    of section: DebugSection, at offset: UInt64, _ format: DWARFValue.Format, _ limit: WorkLimit,
    through last: UInt64? = nil
  ) {
    var count = last == nil ? 1 << 13 : 1 << 10
    while count <= Self.maximumSize {
      guard let bytes = section.prefix(at: offset, count: count), limit.spend(bytes.count / 2)
      else { return nil }
      attributes = []
      dense = []
      sparse = [:]
      var cursor = DWARFReader(bytes)
      if parse(&cursor, format, through: last) || bytes.count < count { return }
      count *= 8
    }
  }

  /// The number of bytes of memory that the table is estimated to take.
  var cost: Int { attributes.count * 24 + (dense.count + sparse.count) * 48 }

  func entry(_ code: UInt64) -> Entry? {
    if let index = Int(exactly: code &- 1), index < dense.count { return dense[index] }
    return sparse[code]
  }

  /// Parses a table; returns false if the bytes end before the table does.
  private func parse(
    _ cursor: inout DWARFReader, _ format: DWARFValue.Format, through last: UInt64?
  ) -> Bool {
    while true {
      let code = cursor.uleb()
      if cursor.hasFailed { return false }
      if code == 0 { return true }
      let tag = cursor.uleb()
      let hasChildren = cursor.u8() != 0
      let start = attributes.count
      var size: Int? = 0
      while true {
        let name = cursor.uleb()
        let form = cursor.uleb()
        let constant = form == DWARFForm.implicitConst ? cursor.sleb() : 0
        if cursor.hasFailed { return false }
        if name == 0, form == 0 { break }
        guard attributes.count - start < Self.maximumAttributes else { return true }
        attributes.append(Attribute(name: name, form: form, constant: constant))
        let width = DWARFValue.width(of: form, format)
        if let total = size, let width { size = total + width } else { size = nil }
      }
      let entry = Entry(
        tag: tag, hasChildren: hasChildren, attributes: start..<attributes.count, size: size)
      if code == UInt64(dense.count + 1) { dense.append(entry) } else { sparse[code] = entry }
      if code == last { return true }
    }
  }
}

/// Keeps tables of abbreviations, which units share, within a memory limit.
final class DWARFAbbreviationCache {
  private struct Key: Hashable {
    let offset: UInt64
    let offsetSize: Int
    let addressSize: Int
  }

  private let section: DebugSection?
  private let limit: WorkLimit
  private var tables: [Key: DWARFAbbreviations] = [:]
  private var cost = 0
  private static let maximumCost = 16 << 20

  init(_ section: DebugSection?, _ limit: WorkLimit) {
    self.section = section
    self.limit = limit
  }

  /// The part of a unit's table that its first entry needs; the part is not kept.
  ///
  /// The index reads the first entry of every unit, but the rest of few.
  ///
  /// - Parameter code: the code of the first entry's abbreviation.
  func root(of unit: DWARFUnit, _ code: UInt64) -> DWARFAbbreviations? {
    if let known = tables[key(of: unit)] { return known }
    guard let section else { return nil }
    return DWARFAbbreviations(
      of: section, at: unit.abbreviationOffset, unit.format, limit, through: code)
  }

  private func key(of unit: DWARFUnit) -> Key {
    Key(
      offset: unit.abbreviationOffset, offsetSize: unit.format.offsetSize,
      addressSize: unit.format.addressSize)
  }

  func table(of unit: DWARFUnit) -> DWARFAbbreviations? {
    let key = key(of: unit)
    if let known = tables[key] { return known }
    guard let section,
      let table = DWARFAbbreviations(of: section, at: key.offset, unit.format, limit)
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
