internal import ProcessSnapshot

/// Finds functions, lines and inlined calls in the DWARF debug information of one file.
///
/// `DebugInformation` reads the header and the first entry of every unit. It reads the rest of a unit and its line
/// program only when a lookup needs them, and keeps them within a memory limit. Reading never traps, whatever bytes the
/// file contains.
package final class DebugInformation: MemoryHolder {
  /// A function at an address, or a call that was inlined into this function.
  package struct Frame: Equatable {
    /// The linkage name, or the plain name if there is no linkage name.
    package var name: String?
    /// The start of the function's code; nil for an inlined call.
    var start: Address?
    package var location: SourceLocation?
    /// True if the call was inlined into the next frame.
    var isInlined: Bool
  }

  let sections: DWARFSections
  let ranges: DWARFRanges
  private let abbreviations: DWARFAbbreviationCache
  let limit: WorkLimit
  private(set) lazy var index = DWARFUnitIndex(ranges, abbreviations: abbreviations, limit: limit)
  private var contents: [UInt64: DWARFUnitContent] = [:]
  private var lines: [UInt64: LineTable] = [:]
  /// The names of functions, by the offset of the abstract entry or declaration to which a function's entry refers.
  private var names: [UInt64: String] = [:]
  /// The number of bytes that `contents`, `lines` and `names` take; these bytes count toward `limit`.
  private(set) var cost = 0

  /// Returns nil for a file without debug information.
  init?(of image: ELFImage, limit: WorkLimit) {
    let sections = DWARFSections(of: image, limit)
    guard sections.info != nil else { return nil }
    self.sections = sections
    self.limit = limit
    ranges = DWARFRanges(sections: sections, code: image.elf.code, limit: limit)
    abbreviations = DWARFAbbreviationCache(sections.abbreviations, limit)
    limit.add(self)
  }

  /// A note about debug information that could not be read; nil if there is nothing to note.
  var note: String? { sections.note }

  /// Finds the function and the inlined calls at an address, innermost first.
  ///
  /// - Parameters:
  ///   - address: a link-time address, which is an address in the file, without the load bias.
  ///   - approximating: true to use, for code without a line, the last line before this code.
  /// - Returns: one frame if nothing was inlined at the address; none for an unknown address, or once the limit on work
  ///   is reached.
  func frames(at address: Address, approximating: Bool = true) -> [Frame] {
    guard !limit.isReached, let place = index.code.innermost(containing: address)?.payload else {
      return []
    }
    let unit = index.units[place]
    let content = content(of: unit)
    let function = content?.functions.innermost(containing: address)
    let innermost = sourceLocation(
      at: address, in: unit, functionStart: approximating ? function?.range.start : nil)
    guard let content, let function else {
      return innermost.map { [Frame(name: nil, start: nil, location: $0, isInlined: false)] } ?? []
    }
    let calls = content.calls(at: address, in: function.payload, ranges, limit)
    var location = innermost
    var frames: [Frame] = []
    for (depth, call) in calls.enumerated().reversed() {
      frames.append(
        Frame(
          name: name(of: call, in: content), start: depth == 0 ? start(of: call, in: unit) : nil,
          location: location, isInlined: depth > 0))
      location = call.callFile.flatMap { file in
        self.sourceLocation(
          of: unit, file: file, line: call.callLine ?? 0, column: call.callColumn ?? 0)
      }
    }
    return frames
  }

  private func start(of function: DWARFUnitContent.DIE, in unit: DWARFUnit) -> Address? {
    if let low = ranges.address(function.low, in: unit), function.ranges == nil { return low }
    // If a function consists of several pieces, the first piece in the list contains its entry point.
    return ranges.ranges(
      low: function.low, high: function.high, list: function.ranges, in: unit
    ).first?.start
  }

  /// Finds the source line of an instruction; for line 0, takes the last line before it in the function at
  /// `functionStart`.
  private func sourceLocation(
    at address: Address, in unit: DWARFUnit, functionStart: Address?
  ) -> SourceLocation? {
    guard let table = lineTable(of: unit), let exact = table.row(at: address) else { return nil }
    var row = exact
    if exact.line == 0, let start = functionStart {
      row = table.lineRow(at: address, from: start) ?? exact
    }
    var location = sourceLocation(
      of: unit, file: UInt64(row.file), line: UInt64(row.line), column: UInt64(row.column))
    location?.isApproximate = row.line != exact.line
    return location
  }

  private func sourceLocation(
    of unit: DWARFUnit, file: UInt64, line: UInt64, column: UInt64
  ) -> SourceLocation? {
    guard let path = UInt16(exactly: file).flatMap({ self.path(of: $0, in: unit) }) else {
      return nil
    }
    return SourceLocation(
      file: path, line: line > 0 ? Int(clamping: line) : nil,
      column: column > 0 ? Int(clamping: column) : nil)
  }

  /// Finds the path of a file by its number in a unit.
  func path(of file: UInt16, in unit: DWARFUnit) -> String? {
    guard file != LineTable.Row.unknownFile else { return nil }
    return lineTable(of: unit)?.path(
      of: Int(file), directory: compilationDirectory(of: unit), sections: sections)
  }

  /// Finds the name of the function that a debugging information entry (DIE) describes.
  ///
  /// The search follows the entry's references to other entries, even to those in another unit. A linkage name in any
  /// of these entries takes precedence over a plain name.
  func name(of die: DWARFUnitContent.DIE, in content: DWARFUnitContent) -> String? {
    let key: UInt64? =
      switch die.origin {
      case .unitReference(let offset)?: content.unit.offset &+ offset
      case .reference(let offset)?: offset
      default: nil
      }
    guard let key, die.linkageName == nil, die.name == nil else {
      return uncachedName(of: die, in: content)
    }
    if let known = names[key] { return known }
    let name = uncachedName(of: die, in: content)
    if keep(128 + (name?.utf8.count ?? 0)) { names[key] = name }
    return name
  }

  private func uncachedName(
    of die: DWARFUnitContent.DIE, in content: DWARFUnitContent
  ) -> String? {
    var die = die
    var content = content
    var plain: String?
    // Usually there are at most three entries: the concrete function, the abstract function and the declaration.
    for _ in 0..<8 {
      if let name = die.linkageName.flatMap({ text($0, in: content.unit, content.bytes) }) {
        return name
      }
      if plain == nil { plain = die.name.flatMap { text($0, in: content.unit, content.bytes) } }
      guard let origin = die.origin, let next = entry(origin, from: content) else { break }
      (die, content) = next
    }
    return plain
  }

  private func entry(
    _ reference: DWARFValue, from content: DWARFUnitContent
  ) -> (DWARFUnitContent.DIE, DWARFUnitContent)? {
    switch reference {
    case .unitReference(let offset):
      return content.die(at: Int(clamping: offset)).map { ($0, content) }
    case .reference(let offset):
      guard let unit = index.unit(holding: offset), let other = self.content(of: unit) else {
        return nil
      }
      return other.die(at: Int(clamping: offset &- unit.offset)).map { ($0, other) }
    default: return nil
    }
  }

  private func text(_ value: DWARFValue, in unit: DWARFUnit, _ bytes: [UInt8]) -> String? {
    switch value {
    case .text(let range):
      guard range.upperBound <= bytes.count, limit.spend(range.count / 16) else { return nil }
      return String(decoding: bytes[range], as: UTF8.self)
    case .stringOffset(let offset): return sections.strings?.text(at: offset)
    case .lineStringOffset(let offset): return sections.lineStrings?.text(at: offset)
    case .stringIndex(let index):
      let width = unit.format.offsetSize
      let (place, overflow) = index.multipliedReportingOverflow(by: UInt64(width))
      guard !overflow,
        let offset = sections.stringOffsets?.integer(
          at: unit.stringOffsetsBase &+ place, width: width)
      else { return nil }
      return sections.strings?.text(at: offset)
    default: return nil
    }
  }

  private func compilationDirectory(of unit: DWARFUnit) -> String? {
    guard let value = unit.compilationDirectory else { return nil }
    if case .text = value {
      guard let content = content(of: unit) else { return nil }
      return text(value, in: unit, content.bytes)
    }
    return text(value, in: unit, [])
  }

  func content(of unit: DWARFUnit) -> DWARFUnitContent? {
    if let known = contents[unit.offset] { return known }
    let size = Int(clamping: unit.end &- unit.offset)
    guard limit.spend(size / 16), keep(size), let table = abbreviations.table(of: unit),
      let bytes = sections.info?.bytes(at: unit.offset, count: size)
    else { return nil }
    let content = DWARFUnitContent(unit: unit, bytes: bytes, abbreviations: table)
    contents[unit.offset] = content
    content.findFunctions(ranges, limit)
    cost += content.functionCost
    return content
  }

  func lineTable(of unit: DWARFUnit) -> LineTable? {
    guard let offset = unit.lineOffset else { return nil }
    if let known = lines[offset] { return known }
    guard
      let table = LineProgram.table(
        at: offset, in: ranges, addressSize: unit.format.addressSize, limit: limit)
    else { return nil }
    cost += table.cost
    lines[offset] = table
    return table
  }

  private func keep(_ bytes: Int) -> Bool {
    guard limit.take(bytes) else { return false }
    cost += bytes
    return true
  }

  func forget() {
    contents = [:]
    lines = [:]
    names = [:]
    limit.giveBack(cost)
    cost = 0
  }
}

/// Looks up addresses in ranges that may overlap or be nested.
struct AddressMap<Payload> {
  struct Entry {
    var range: AddressRange
    var payload: Payload
  }

  /// The entries, sorted by start.
  let entries: [Entry]
  /// For each entry, the highest end of this entry and all entries before it.
  ///
  /// A backward search for an address can stop at an entry for which this end is below the address.
  private let furthest: [Address]

  init(_ unsorted: consuming [Entry]) {
    var entries = unsorted
    entries.removeAll { $0.range.isEmpty }
    // If two entries have the same start, the shorter one comes last, because `innermost` searches backward and returns
    // the first match.
    entries.sort { ($0.range.start, $1.range.byteCount) < ($1.range.start, $0.range.byteCount) }
    var highest: Address = 0
    furthest = entries.map { entry in
      highest = max(highest, entry.range.last ?? 0)
      return highest
    }
    self.entries = entries
  }

  /// The number of bytes that an entry takes from the memory limit: twice its size, because a growing list has spare
  /// capacity, and 8 bytes in `furthest`.
  static var entryCost: Int { 2 * MemoryLayout<Entry>.stride + 8 }

  /// Finds the innermost entry that contains an address, which is the one that starts last.
  func innermost(containing address: Address) -> Entry? {
    var index = entries.partitioningIndex { $0.range.start > address } - 1
    while index >= 0, furthest[index] >= address {
      if entries[index].range.contains(address) { return entries[index] }
      index -= 1
    }
    return nil
  }
}
