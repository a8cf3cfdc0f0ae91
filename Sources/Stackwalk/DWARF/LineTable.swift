internal import ProcessSnapshot

/// The rows of one line program: which line of which file each instruction comes from.
///
/// Keeps 16 bytes a row.
final class LineTable {
  struct Row {
    var address: Address
    /// 0 for code that no line stands for.
    var line: UInt32
    var column: UInt16
    /// The file's number; `unknownFile` for one above 65,534.
    var file: UInt16

    static let unknownFile: UInt16 = .max
  }

  let header: LineHeader
  private var rows: [Row] = []
  private var sequences: AddressMap<Range<Int>>
  private var paths: [Int: String] = [:]

  /// Rows that are kept at most; a program that makes more is cut.
  static let maximumRowCount = 8 << 20

  init(header: LineHeader, rows: [Row], sequences: [AddressMap<Range<Int>>.Entry]) {
    self.header = header
    self.rows = rows
    self.sequences = AddressMap(sequences)
  }

  /// Bytes of memory it takes, about.
  var cost: Int { rows.count * MemoryLayout<Row>.stride + header.cost + sequences.cost }

  /// The last row at or below an address; nil outside all sequences.
  func row(at address: Address) -> Row? { index(at: address).map { rows[$0.index] } }

  /// The last row at or below an address that stands for a line, but none below `start`.
  ///
  /// gdb, too, passes over code without a line. Source: gdb/dwarf2/line-program.c,
  /// `lnp_state_machine::record_line`.
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
    var low = sequence.lowerBound
    var high = sequence.upperBound
    while low < high {
      let middle = (low + high) / 2
      if rows[middle].address <= address { low = middle + 1 } else { high = middle }
    }
    return low > sequence.lowerBound ? (low - 1, sequence.lowerBound) : nil
  }

  /// The path of a file by its number; nil if there is none.
  func path(of file: Int, directory: String?, sections: DWARFSections) -> String? {
    if let known = paths[file] { return known }
    guard let path = header.path(of: file, directory: directory, sections: sections) else {
      return nil
    }
    paths[file] = path
    return path
  }
}
