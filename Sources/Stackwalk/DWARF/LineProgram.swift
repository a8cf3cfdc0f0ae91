internal import ProcessSnapshot

/// Runs a line program.
///
/// Source: DWARF 5, 6.2.2 and 6.2.5.
struct LineProgram {
  private let header: LineHeader
  private let ranges: DWARFRanges
  private var rows: [LineTable.Row] = []
  private var sequences: [AddressMap<Range<Int>>.Entry] = []
  private var sequenceStart = 0
  private var isSorted = true

  // The state machine's registers.
  private var address: Address = 0
  private var file: UInt64 = 1
  private var line: UInt32 = 1
  private var column: UInt64 = 0

  /// The table of the program at an offset of `.debug_line`; nil where there is none.
  ///
  /// A damaged program gives the sequences before the damage.
  static func table(
    at offset: UInt64, in ranges: DWARFRanges, addressSize: Int, limit: WorkLimit
  ) -> LineTable? {
    guard let section = ranges.sections.line, let start = section.prefix(at: offset, count: 12)
    else { return nil }
    var cursor = DWARFReader(start)
    guard let (length, offsetSize) = cursor.initialLength(),
      length <= section.size &- offset, length <= 256 << 20,
      let bytes = section.prefix(
        at: offset, count: Int(clamping: length) + (offsetSize == 8 ? 12 : 4)),
      let header = LineHeader(bytes, addressSize: addressSize)
    else { return nil }
    var program = LineProgram(header: header, ranges: ranges)
    program.run(bytes, limit)
    return LineTable(header: header, rows: program.rows, sequences: program.sequences)
  }

  private init(header: LineHeader, ranges: DWARFRanges) {
    self.header = header
    self.ranges = ranges
  }

  private mutating func run(_ bytes: [UInt8], _ limit: WorkLimit) {
    var cursor = DWARFReader(bytes, from: header.programStart)
    var steps = 0
    while !cursor.isAtEnd, rows.count < LineTable.maximumRowCount {
      steps += 1
      if steps & 0xFFFF == 0, limit.isReached { return }
      let opcode = cursor.u8()
      if opcode >= header.opcodeBase {
        special(opcode)
      } else if opcode == 0 {
        extended(&cursor)
      } else {
        standard(opcode, &cursor)
      }
    }
  }

  private mutating func special(_ opcode: UInt8) {
    let adjusted = UInt64(opcode &- header.opcodeBase)
    advance(adjusted / header.lineRange)
    addLines(header.lineBase &+ Int64(clamping: adjusted % header.lineRange))
    emit()
  }

  private mutating func advance(_ operations: UInt64) {
    address = address &+ operations &* header.minimumInstructionLength
  }

  private mutating func addLines(_ count: Int64) {
    line = UInt32(truncatingIfNeeded: Int64(line) &+ count)
  }

  private mutating func standard(_ opcode: UInt8, _ cursor: inout DWARFReader) {
    switch opcode {
    case 1: emit()
    case 2: advance(cursor.uleb())
    case 3: addLines(cursor.sleb())
    case 4: file = cursor.uleb()
    case 5: column = cursor.uleb()
    case 6, 7, 10, 11: break
    case 8: advance(UInt64(255 &- header.opcodeBase) / header.lineRange)
    case 9: address = address &+ UInt64(cursor.u16())
    case 12: _ = cursor.uleb()
    default:
      // An operation of a later version, whose operands the header counts.
      for _ in 0..<header.operandCounts[Int(opcode) - 1] { _ = cursor.uleb() }
    }
  }

  private mutating func extended(_ cursor: inout DWARFReader) {
    let length = cursor.uleb()
    guard !cursor.hasFailed, let length = Int(exactly: length), length > 0,
      length <= cursor.end - cursor.offset
    else {
      cursor.fail()
      return
    }
    let end = cursor.offset + length
    switch cursor.u8() {
    case 1:
      endSequence()
      (address, file, line, column) = (0, 1, 1, 0)
    case 2: address = Address(cursor.unsigned(min(8, length - 1)))
    default: break
    }
    cursor.seek(to: end)
  }

  private mutating func emit() {
    if rows.count > sequenceStart, rows[rows.count - 1].address > address { isSorted = false }
    rows.append(
      LineTable.Row(
        address: address, line: line, column: UInt16(truncatingIfNeeded: min(column, 0xFFFF)),
        file: file < UInt64(LineTable.Row.unknownFile)
          ? UInt16(truncatingIfNeeded: file) : LineTable.Row.unknownFile))
  }

  /// Keeps the rows since the last end if their code is still there.
  private mutating func endSequence() {
    defer {
      sequenceStart = rows.count
      isSorted = true
    }
    if !isSorted { sortSequence() }
    guard sequenceStart < rows.count, rows[sequenceStart].address < address,
      ranges.code.contains(where: { $0.contains(rows[sequenceStart].address) })
    else {
      rows.removeLast(rows.count - sequenceStart)
      return
    }
    sequences.append(
      .init(
        range: AddressRange(from: rows[sequenceStart].address, to: address),
        payload: sequenceStart..<rows.count))
  }

  private mutating func sortSequence() {
    // Swift's sort keeps the order of equal elements.
    let sorted = rows[sequenceStart...].sorted { $0.address < $1.address }
    rows.replaceSubrange(sequenceStart..., with: sorted)
  }
}
