internal import ProcessSnapshot

/// Functions, lines and inlined calls of one file, from its DWARF.
///
/// Reads what an address needs: the unit's entries and its line program, kept for the next address
/// up to a bound on memory. Total on any bytes.
package final class DebugInformation {
  /// One call at an address.
  package struct Frame: Equatable {
    /// The linkage name where there is one, else the plain one.
    package var name: String?
    /// Where the function's code starts, for the function that is not inlined.
    var start: Address?
    package var location: SourceLocation?
    /// True if the call was inlined into the next frame.
    var isInlined: Bool
  }

  /// Bytes of units and line tables that stay in memory, besides those in use.
  private static let cacheSize = 96 << 20
  /// The largest unit that is read.
  private static let maximumUnitSize: UInt64 = 512 << 20

  private let sections: DWARFSections
  private let ranges: DWARFRanges
  private let abbreviations: DWARFAbbreviationCache
  private let limit: WorkLimit
  private lazy var index = DWARFUnitIndex(ranges, abbreviations: abbreviations, limit: limit)
  private var contents: [UInt64: DWARFUnitContent] = [:]
  private var lines: [UInt64: LineTable] = [:]
  /// Names of functions by the offset of the entry that inlined calls refer to.
  private var names: [UInt64: String] = [:]
  private var cost = 0

  /// Nil for a file without debug information.
  init?(of image: ELFImage, limit: WorkLimit) {
    let sections = DWARFSections(of: image)
    guard sections.info != nil else { return nil }
    self.sections = sections
    self.limit = limit
    let code = image.elf.segments.filter { $0.type == ELFFile.load && $0.flags & 1 != 0 }
      .map(\.memoryRange)
    ranges = DWARFRanges(sections: sections, code: code)
    abbreviations = DWARFAbbreviationCache(sections.abbreviations)
  }

  /// What cannot be read of it; nil where all can.
  var note: String? { sections.note }

  /// The calls at an address of the file's own numbering, innermost first.
  ///
  /// - Parameters:
  ///   - address: what to look up.
  ///   - approximating: whether code that no line stands for gets the line in front of it.
  /// - Returns: one frame where nothing was inlined; none where nothing is known of the address.
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
    let calls = content.calls(at: address, in: function.payload, ranges)
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

  private func start(of function: DWARFUnitContent.Code, in unit: DWARFUnit) -> Address? {
    if let low = ranges.address(function.low, in: unit), function.ranges == nil { return low }
    // Of a function in pieces the first in the list is the one that is entered.
    return ranges.ranges(
      low: function.low, high: function.high, list: function.ranges, in: unit
    ).first?.start
  }

  /// The line of an instruction.
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
    guard let table = lineTable(of: unit), let file = UInt16(exactly: file),
      file != LineTable.Row.unknownFile,
      let path = table.path(
        of: Int(file), directory: compilationDirectory(of: unit), sections: sections)
    else { return nil }
    return SourceLocation(
      file: path, line: line > 0 ? Int(clamping: line) : nil,
      column: column > 0 ? Int(clamping: column) : nil)
  }

  /// The name of an entry or of what it stands for, possibly in another unit.
  ///
  /// A linkage name anywhere on the way wins over a plain one.
  private func name(of code: DWARFUnitContent.Code, in content: DWARFUnitContent) -> String? {
    let key: UInt64? =
      switch code.origin {
      case .unitReference(let offset)?: content.unit.offset &+ offset
      case .reference(let offset)?: offset
      default: nil
      }
    guard let key, code.linkageName == nil, code.name == nil else {
      return uncachedName(of: code, in: content)
    }
    if let known = names[key] { return known }
    let name = uncachedName(of: code, in: content)
    cost += 64 + (name?.utf8.count ?? 0)
    names[key] = name
    return name
  }

  private func uncachedName(
    of code: DWARFUnitContent.Code, in content: DWARFUnitContent
  ) -> String? {
    var code = code
    var content = content
    var plain: String?
    // Concrete function, abstract function, declaration: three, and some to spare.
    for _ in 0..<8 {
      if let name = code.linkageName.flatMap({ text($0, in: content.unit, content.bytes) }) {
        return name
      }
      if plain == nil { plain = code.name.flatMap { text($0, in: content.unit, content.bytes) } }
      guard let origin = code.origin, let next = entry(origin, from: content) else { break }
      (code, content) = next
    }
    return plain
  }

  private func entry(
    _ reference: DWARFValue, from content: DWARFUnitContent
  ) -> (DWARFUnitContent.Code, DWARFUnitContent)? {
    switch reference {
    case .unitReference(let offset):
      return content.code(at: Int(clamping: offset)).map { ($0, content) }
    case .reference(let offset):
      guard let unit = index.unit(holding: offset), let other = self.content(of: unit) else {
        return nil
      }
      return other.code(at: Int(clamping: offset &- unit.offset)).map { ($0, other) }
    default: return nil
    }
  }

  private func text(_ value: DWARFValue, in unit: DWARFUnit, _ bytes: [UInt8]) -> String? {
    switch value {
    case .text(let range):
      return range.upperBound <= bytes.count
        ? String(decoding: bytes[range], as: UTF8.self) : nil
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

  private func content(of unit: DWARFUnit) -> DWARFUnitContent? {
    if let known = contents[unit.offset] { return known }
    let size = unit.end &- unit.offset
    guard size <= Self.maximumUnitSize, let table = abbreviations.table(of: unit),
      let bytes = sections.info?.bytes(at: unit.offset, count: Int(clamping: size))
    else { return nil }
    let content = DWARFUnitContent(unit: unit, bytes: bytes, abbreviations: table)
    content.findFunctions(ranges, limit)
    makeRoom(for: content.cost)
    contents[unit.offset] = content
    return content
  }

  private func lineTable(of unit: DWARFUnit) -> LineTable? {
    guard let offset = unit.lineOffset else { return nil }
    if let known = lines[offset] { return known }
    guard
      let table = LineProgram.table(
        at: offset, in: ranges, addressSize: unit.format.addressSize, limit: limit)
    else { return nil }
    makeRoom(for: table.cost)
    lines[offset] = table
    return table
  }

  /// Forgets everything once too much is kept: what is needed is read again.
  private func makeRoom(for added: Int) {
    if cost > 0, cost + added > Self.cacheSize {
      contents = [:]
      lines = [:]
      names = [:]
      cost = 0
    }
    cost += added
  }
}
