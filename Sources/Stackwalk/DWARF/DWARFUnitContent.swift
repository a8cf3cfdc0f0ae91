internal import ProcessSnapshot

/// The entries of one unit in memory, and where its functions lie.
final class DWARFUnitContent {
  let unit: DWARFUnit
  /// The whole unit, its header first.
  let bytes: [UInt8]
  let abbreviations: DWARFAbbreviations
  private(set) var functions = AddressMap<Int>([])

  init(unit: DWARFUnit, bytes: [UInt8], abbreviations: DWARFAbbreviations) {
    self.unit = unit
    self.bytes = bytes
    self.abbreviations = abbreviations
  }

  /// Bytes of memory it takes, about.
  var cost: Int { bytes.count + functions.cost }

  /// What an entry says that names and places code.
  struct Code {
    var tag: UInt64 = 0
    var hasChildren = false
    var name: DWARFValue?
    var linkageName: DWARFValue?
    /// Of abstract_origin, else of specification: where else the entry is described.
    var origin: DWARFValue?
    var low: DWARFValue?
    var high: DWARFValue?
    var ranges: DWARFValue?
    var sibling: DWARFValue?
    var callFile: UInt64?
    var callLine: UInt64?
    var callColumn: UInt64?
  }

  /// Reads the attributes of an entry whose code was read.
  func code(_ entry: DWARFAbbreviations.Entry, _ cursor: inout DWARFReader) -> Code {
    var code = Code(tag: entry.tag, hasChildren: entry.hasChildren)
    for index in entry.attributes {
      let attribute = abbreviations.attributes[index]
      let value = DWARFValue.read(attribute.form, attribute.constant, &cursor, unit.format)
      if cursor.hasFailed { return code }
      switch attribute.name {
      case DWARFAttribute.name: code.name = value
      case DWARFAttribute.linkageName, DWARFAttribute.mipsLinkageName: code.linkageName = value
      case DWARFAttribute.abstractOrigin: code.origin = value
      case DWARFAttribute.specification: if code.origin == nil { code.origin = value }
      case DWARFAttribute.lowPC: code.low = value
      case DWARFAttribute.highPC: code.high = value
      case DWARFAttribute.ranges: code.ranges = value
      case DWARFAttribute.sibling: code.sibling = value
      case DWARFAttribute.callFile: if case .number(let number) = value { code.callFile = number }
      case DWARFAttribute.callLine: if case .number(let number) = value { code.callLine = number }
      case DWARFAttribute.callColumn:
        if case .number(let number) = value { code.callColumn = number }
      default: continue
      }
    }
    return code
  }

  /// Passes the attributes of an entry whose code was read.
  func skip(_ entry: DWARFAbbreviations.Entry, _ cursor: inout DWARFReader) {
    if let size = entry.size { return cursor.skip(size) }
    for index in entry.attributes {
      DWARFValue.skip(abbreviations.attributes[index].form, &cursor, unit.format)
      if cursor.hasFailed { return }
    }
  }

  /// The entry at an offset from the unit's start; nil for a null entry, or none.
  func code(at offset: Int) -> Code? {
    var cursor = DWARFReader(bytes, from: offset)
    guard offset >= unit.headerSize, let entry = abbreviations.entry(cursor.uleb()) else {
      return nil
    }
    let code = code(entry, &cursor)
    return cursor.hasFailed ? nil : code
  }

  /// Goes over all entries once and notes the functions with code.
  ///
  /// Ends early at damage, keeping what came before, and at the limit.
  func findFunctions(_ ranges: DWARFRanges, _ limit: WorkLimit) {
    var found: [AddressMap<Int>.Entry] = []
    var cursor = DWARFReader(bytes, from: unit.headerSize)
    var steps = 0
    while !cursor.isAtEnd {
      steps += 1
      if steps & 0xFFF == 0, limit.isReached { break }
      let offset = cursor.offset
      let number = cursor.uleb()
      if number == 0 { continue }
      guard let entry = abbreviations.entry(number) else { break }
      guard entry.tag == DWARFTag.subprogram else {
        skip(entry, &cursor)
        continue
      }
      let code = code(entry, &cursor)
      guard !cursor.hasFailed, code.low != nil || code.ranges != nil else { continue }
      for range in ranges.ranges(low: code.low, high: code.high, list: code.ranges, in: unit) {
        found.append(.init(range: range, payload: offset))
      }
    }
    functions = AddressMap(found)
  }

  /// The calls that were inlined around an address, the outermost first, the function in front.
  ///
  /// - Parameter function: the function's offset from the unit's start.
  func calls(at address: Address, in function: Int, _ ranges: DWARFRanges) -> [Code] {
    var cursor = DWARFReader(bytes, from: function)
    guard let entry = abbreviations.entry(cursor.uleb()) else { return [] }
    var chain = [code(entry, &cursor)]
    guard entry.hasChildren else { return chain }
    // Depth of the entry that comes next, below the function; the chain's last is above `floor`.
    var depth = 1
    var floor = 1
    while depth >= floor, !cursor.isAtEnd {
      let number = cursor.uleb()
      if number == 0 {
        depth -= 1
        continue
      }
      guard let entry = abbreviations.entry(number) else { break }
      switch entry.tag {
      case DWARFTag.inlinedSubroutine, DWARFTag.lexicalBlock:
        let code = code(entry, &cursor)
        let isInlined = entry.tag == DWARFTag.inlinedSubroutine
        // A block without ranges, which old compilers write, only groups.
        let isAround =
          ranges.covers(address, low: code.low, high: code.high, list: code.ranges, in: unit)
          ?? !isInlined
        if isAround, isInlined { chain.append(code) }
        guard entry.hasChildren else {
          if isAround, isInlined { return chain }
          continue
        }
        if isAround {
          depth += 1
          if isInlined { floor = depth }
        } else {
          skipChildren(of: code, &cursor)
        }
      default:
        guard entry.hasChildren else {
          skip(entry, &cursor)
          continue
        }
        skipChildren(of: code(entry, &cursor), &cursor)
      }
    }
    return chain
  }

  /// Passes everything below an entry whose attributes were read.
  private func skipChildren(of code: Code, _ cursor: inout DWARFReader) {
    if case .unitReference(let offset)? = code.sibling, let target = Int(exactly: offset),
      target > cursor.offset, target < bytes.count
    {
      return cursor.seek(to: target)
    }
    var depth = 1
    while depth > 0, !cursor.isAtEnd {
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
