internal import ProcessSnapshot

/// The source lines and files of instructions, as rows of 16 bytes from one line program.
final class LineTable {
  struct Row {
    var address: Address
    /// The line; 0 for code without a line.
    var line: UInt32
    var column: UInt16
    /// The file's number; `unknownFile` for a number above 65,534.
    var file: UInt16

    static let unknownFile: UInt16 = .max
  }

  let header: LineHeader
  private var rows: [Row] = []
  private var sequences: AddressMap<Range<Int>>
  private var paths: [Int: String] = [:]

  init(
    header: LineHeader, rows: [Row], sequences: [AddressMap<Range<Int>>.Entry], cost: Int
  ) {
    self.cost = cost
    self.header = header
    self.rows = rows
    self.sequences = AddressMap(sequences)
  }

  /// The number of bytes that this table takes from the memory limit.
  let cost: Int

  /// Finds the last row at or below an address; nil outside all sequences.
  func row(at address: Address) -> Row? { index(at: address).map { rows[$0.index] } }

  /// Finds the last row at or below an address.
  ///
  /// If this row has no line, the function finds the last earlier row that has a line and is not below `start`.
  ///
  /// Source: gdb/dwarf2/line-program.c, `lnp_state_machine::record_line`, which also skips rows without a line.
  func lineRow(at address: Address, from start: Address) -> Row? {
    guard let place = self.index(at: address) else { return nil }
    var index = place.index
    while rows[index].line == 0 {
      guard index > place.first, rows[index - 1].address >= start else { return nil }
      index -= 1
    }
    return rows[index]
  }

  private func index(at address: Address) -> (index: Int, first: Int)? {
    guard let sequence = sequences.innermost(containing: address)?.payload else { return nil }
    let index = rows[sequence].partitioningIndex { $0.address > address } - 1
    return index >= sequence.lowerBound ? (index, sequence.lowerBound) : nil
  }

  /// Visits the lines that `lineRow(at:from:)` finds for a function's code, in the order of the addresses.
  ///
  /// Neighboring ranges with the same line and file are joined.
  ///
  /// - Parameter range: the function's code; code for which no line is found is left out.
  func visitLines(in range: AddressRange, _ limit: WorkLimit, _ body: (AddressRange, Row) -> Void) {
    let end = range.clampedEnd
    var address = range.start
    var last: Row?
    var run: (start: Address, row: Row)?
    func endRun(at place: Address) {
      guard let (start, row) = run, start < place else { return }
      body(AddressRange(from: start, to: place), row)
      run = nil
    }
    while address < end, let sequence = sequences.innermost(containing: address),
      var index = index(at: address)?.index, limit.spend(1)
    {
      // If several rows have the same address, the last one is used. If the last row has no line, the rows before it
      // are searched too.
      while last == nil, index > sequence.payload.lowerBound,
        rows[index - 1].address >= range.start
      {
        index -= 1
      }
      while index < sequence.payload.upperBound, address < end, limit.step() {
        let row = rows[index]
        index += 1
        let next =
          index < sequence.payload.upperBound ? rows[index].address : sequence.range.clampedEnd
        if row.line != 0 { last = row }
        guard next > address else { continue }
        if let shown = last {
          if run?.row.line != shown.line || run?.row.file != shown.file {
            endRun(at: address)
            run = (address, shown)
          }
        }
        address = min(next, end)
      }
      guard index >= sequence.payload.upperBound else { break }
    }
    endRun(at: address)
  }

  /// Finds the path of a file by its number in the line program's header.
  func path(of file: Int, directory: String?, sections: DWARFSections) -> String? {
    if let known = paths[file] { return known }
    guard let path = header.path(of: file, directory: directory, sections: sections) else {
      return nil
    }
    paths[file] = path
    return path
  }
}

/// Runs a DWARF line number program, which produces the rows of a line table.
///
/// Source: DWARF 5, 6.2.2 and 6.2.5.
struct LineProgram {
  private let header: LineHeader
  private let ranges: DWARFRanges
  private var rows: [LineTable.Row] = []
  private var sequences: [AddressMap<Range<Int>>.Entry] = []
  private var sequenceStart = 0
  private var isSorted = true
  /// The number of bytes that rows and sequences take from the memory limit.
  private var cost = 0

  // The registers of the line program's state machine.
  private var address: Address = 0
  private var file: UInt64 = 1
  private var line: UInt32 = 1
  private var column: UInt64 = 0

  /// Runs the line program at an offset of `.debug_line`.
  ///
  /// If the program is damaged or reaches a limit, the table lacks the rest. The result is nil if there is no program
  /// with a valid header, or if a limit is reached before the program runs.
  static func table(
    at offset: UInt64, in ranges: DWARFRanges, addressSize: Int, limit: WorkLimit
  ) -> LineTable? {
    guard let section = ranges.sections.line, let start = section.prefix(at: offset, count: 12)
    else { return nil }
    var cursor = DWARFReader(start)
    guard let (length, offsetSize) = cursor.initialLength(),
      length <= section.size &- offset, limit.spend(Int(clamping: length) / 16),
      limit.take(Int(clamping: length))
    else { return nil }
    defer { limit.giveBack(Int(clamping: length)) }
    guard
      let bytes = section.prefix(
        at: offset, count: Int(clamping: length) + (offsetSize == 8 ? 12 : 4)),
      let header = LineHeader(bytes, addressSize: addressSize)
    else { return nil }
    guard limit.take(header.cost) else { return nil }
    var program = LineProgram(header: header, ranges: ranges)
    program.run(bytes, limit)
    return LineTable(
      header: header, rows: program.rows, sequences: program.sequences,
      cost: header.cost + program.cost)
  }

  private init(header: LineHeader, ranges: DWARFRanges) {
    self.header = header
    self.ranges = ranges
  }

  private mutating func run(_ bytes: [UInt8], _ limit: WorkLimit) {
    var cursor = DWARFReader(bytes, from: header.programStart)
    var steps = 0
    while !cursor.isAtEnd, limit.step() {
      if steps & 0xFFF == 0 {
        // Each of the next 4,096 steps makes at most one row. The factor 2 is for the spare capacity of a growing
        // list.
        let wanted =
          (rows.count + 0x1000) * 2 * MemoryLayout<LineTable.Row>.stride
          + sequences.count * AddressMap<Range<Int>>.entryCost
        guard !limit.isReached, wanted <= cost || limit.take(wanted - cost) else { return }
        cost = max(cost, wanted)
      }
      steps &+= 1
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
    case 1: emit()  // DW_LNS_copy
    case 2: advance(cursor.uleb())  // DW_LNS_advance_pc
    case 3: addLines(cursor.sleb())  // DW_LNS_advance_line
    case 4: file = cursor.uleb()  // DW_LNS_set_file
    case 5: column = cursor.uleb()  // DW_LNS_set_column
    case 6, 7, 10, 11: break  // Statements, basic blocks, prologues and epilogues.
    case 8: advance(UInt64(255 &- header.opcodeBase) / header.lineRange)  // DW_LNS_const_add_pc
    case 9: address = address &+ UInt64(cursor.u16())  // DW_LNS_fixed_advance_pc
    case 12: _ = cursor.uleb()  // DW_LNS_set_isa
    default:
      // An opcode of a later DWARF version; the header has the number of its operands, so they can be skipped.
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
    case 1:  // DW_LNE_end_sequence
      endSequence()
      (address, file, line, column) = (0, 1, 1, 0)
    case 2: address = Address(cursor.unsigned(min(8, length - 1)))  // DW_LNE_set_address
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

  /// Keeps the rows of a sequence, unless the sequence is empty or the linker has removed its code.
  private mutating func endSequence() {
    defer {
      sequenceStart = rows.count
      isSorted = true
    }
    // The sort is stable, so rows at the same address stay in order.
    if !isSorted { rows[sequenceStart...].sort { $0.address < $1.address } }
    guard sequenceStart < rows.count, rows[sequenceStart].address < address,
      ranges.code.contains(rows[sequenceStart].address)
    else {
      rows.removeLast(rows.count - sequenceStart)
      return
    }
    sequences.append(
      .init(
        range: AddressRange(from: rows[sequenceStart].address, to: address),
        payload: sequenceStart..<rows.count))
  }
}

/// The header of a line program, with its directories and files.
///
/// Source: DWARF 5, 6.2.4; DWARF 4, 6.2.4.
struct LineHeader {
  private struct File {
    var name: DWARFValue
    var directory: Int
  }

  let format: DWARFValue.Format
  let minimumInstructionLength: UInt64
  let lineBase: Int64
  let lineRange: UInt64
  let opcodeBase: UInt8
  let operandCounts: [UInt8]
  /// The index of the first byte of the line program, which follows the header.
  let programStart: Int
  private let bytes: [UInt8]
  private var directories: [DWARFValue] = []
  private var files: [File] = []

  /// The maximum number of directories or files; longer tables are cut.
  private static let maximumCount = 1 << 20

  /// Reads the header; nil if it is invalid.
  ///
  /// - Parameters:
  ///   - bytes: the whole line program, starting with its initial length.
  ///   - addressSize: the size in bytes of the unit's addresses, which headers before version 5 lack.
  init?(_ bytes: [UInt8], addressSize: Int) {
    var cursor = DWARFReader(bytes)
    guard let (_, offsetSize) = cursor.initialLength() else { return nil }
    let version = cursor.u16()
    guard (2...5).contains(version) else { return nil }
    var width = addressSize
    if version >= 5 {
      width = Int(cursor.u8())
      // Segment selectors are not supported.
      guard cursor.u8() == 0, [4, 8].contains(width) else { return nil }
    }
    let headerLength = cursor.unsigned(offsetSize)
    let headerStart = cursor.offset
    minimumInstructionLength = UInt64(cursor.u8())
    // Skip maximum_operations_per_instruction, which is above 1 only on VLIW machines.
    if version >= 4 { _ = cursor.u8() }
    // Skip default_is_stmt.
    _ = cursor.u8()
    lineBase = Int64(Int8(bitPattern: cursor.u8()))
    lineRange = UInt64(cursor.u8())
    opcodeBase = cursor.u8()
    var counts: [UInt8] = []
    for _ in 1..<max(2, Int(opcodeBase)) where opcodeBase > 1 { counts.append(cursor.u8()) }
    operandCounts = counts
    guard !cursor.hasFailed, lineRange > 0, opcodeBase > 0,
      headerLength <= UInt64(bytes.count - headerStart)
    else { return nil }
    format = DWARFValue.Format(version: version, offsetSize: offsetSize, addressSize: width)
    programStart = headerStart + Int(clamping: headerLength)
    var tables = DWARFReader(bytes, from: cursor.offset, to: programStart)
    self.bytes = Array(bytes[..<programStart])
    if version >= 5 {
      directories = readEntries(&tables).map(\.name)
      files = readEntries(&tables)
    } else {
      readOldTables(&tables)
    }
  }

  /// The estimated memory of the header in bytes.
  var cost: Int { bytes.count + (directories.count + files.count) * 32 }

  private mutating func readOldTables(_ cursor: inout DWARFReader) {
    while !cursor.isAtEnd, directories.count < Self.maximumCount {
      let name = cursor.textRange()
      if cursor.hasFailed || name.isEmpty { break }
      directories.append(.text(name))
    }
    while !cursor.isAtEnd, files.count < Self.maximumCount {
      let name = cursor.textRange()
      if cursor.hasFailed || name.isEmpty { break }
      let directory = cursor.uleb()
      // Skip the time and the size of the file.
      _ = cursor.uleb()
      _ = cursor.uleb()
      files.append(File(name: .text(name), directory: Int(clamping: directory)))
    }
  }

  private func readEntries(_ cursor: inout DWARFReader) -> [File] {
    var formats: [(content: UInt64, form: UInt64)] = []
    for _ in 0..<cursor.u8() { formats.append((cursor.uleb(), cursor.uleb())) }
    let count = cursor.uleb()
    var entries: [File] = []
    guard !cursor.hasFailed, !formats.isEmpty else { return entries }
    while entries.count < min(count, UInt64(Self.maximumCount)), !cursor.isAtEnd {
      let start = cursor.offset
      var entry = File(name: .other, directory: 0)
      for (content, form) in formats {
        let value = DWARFValue.read(form, 0, &cursor, format)
        // Content type 1 is DW_LNCT_path, and 2 is DW_LNCT_directory_index.
        if content == 1 { entry.name = value }
        if content == 2, case .number(let number) = value {
          entry.directory = Int(clamping: number)
        }
      }
      // Entries that take no bytes end the table, because a small file could announce any number of them.
      if cursor.hasFailed || cursor.offset == start { break }
      entries.append(entry)
    }
    return entries
  }

  private func text(_ value: DWARFValue, _ sections: DWARFSections) -> String? {
    switch value {
    case .text(let range): String(decoding: bytes[range], as: UTF8.self)
    case .stringOffset(let offset): sections.strings?.text(at: offset)
    case .lineStringOffset(let offset): sections.lineStrings?.text(at: offset)
    default: nil
    }
  }

  /// Composes the path of a file, which is absolute if the compiler's working directory is known.
  func path(of number: Int, directory: String?, sections: DWARFSections) -> String? {
    // Before version 5, files and directories are counted from 1, and directory 0 is the working directory of the
    // compiler.
    let isOld = format.version < 5
    let index = isOld ? number - 1 : number
    guard files.indices.contains(index), let name = text(files[index].name, sections) else {
      return nil
    }
    if name.hasPrefix("/") { return name }
    let parentIndex = isOld ? files[index].directory - 1 : files[index].directory
    var parent =
      directories.indices.contains(parentIndex)
      ? text(directories[parentIndex], sections) ?? "" : ""
    if !parent.hasPrefix("/"), let directory, !directory.isEmpty {
      parent = parent.isEmpty ? directory : Self.joined(directory, parent)
    }
    return parent.isEmpty ? name : Self.joined(parent, name)
  }

  private static func joined(_ parent: String, _ name: String) -> String {
    parent.hasSuffix("/") ? parent + name : parent + "/" + name
  }
}
