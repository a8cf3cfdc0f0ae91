/// One table of abbreviations: which attributes an entry of a code has, in which forms.
///
/// Source: DWARF 5, 7.5.3.
final class DWARFAbbreviations {
  struct Attribute {
    var name: UInt64
    var form: UInt64
    /// The value itself where the form is implicit_const.
    var constant: Int64
  }

  struct Entry {
    var tag: UInt64
    var hasChildren: Bool
    /// A range of `attributes`.
    var attributes: Range<Int>
    /// Bytes of all attributes where none has a size of its own, so that an entry is passed at
    /// once.
    var size: Int?
  }

  private(set) var attributes: [Attribute] = []
  /// Entries by code; writers number them from 1 without gaps.
  private var dense: [Entry] = []
  private var sparse: [UInt64: Entry] = [:]

  /// A table that reaches further is not read to its end.
  private static let maximumSize = 16 << 20

  /// Reads the table at an offset.
  ///
  /// - Returns: nil where there is none; a damaged one holds what came before the damage.
  init?(of section: DebugSection, at offset: UInt64, offsetSize: Int, addressSize: Int) {
    var count = 1 << 13
    while count <= Self.maximumSize {
      guard let bytes = section.prefix(at: offset, count: count) else { return nil }
      attributes = []
      dense = []
      sparse = [:]
      var cursor = DWARFReader(bytes)
      if parse(&cursor, offsetSize, addressSize) || bytes.count < count { return }
      count *= 8
    }
  }

  /// Bytes of memory it takes, about.
  var cost: Int { attributes.count * 24 + (dense.count + sparse.count) * 48 }

  func entry(_ code: UInt64) -> Entry? {
    // Numbered from 1, as they usually are.
    if let index = Int(exactly: code &- 1), index < dense.count { return dense[index] }
    return sparse[code]
  }

  /// False if the bytes ended before the table did.
  private func parse(_ cursor: inout DWARFReader, _ offsetSize: Int, _ addressSize: Int) -> Bool {
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
        attributes.append(Attribute(name: name, form: form, constant: constant))
        let width = DWARFValue.width(of: form, offsetSize: offsetSize, addressSize: addressSize)
        size = size.flatMap { total in width.map { total + $0 } }
      }
      let entry = Entry(
        tag: tag, hasChildren: hasChildren, attributes: start..<attributes.count, size: size)
      if code == UInt64(dense.count + 1) { dense.append(entry) } else { sparse[code] = entry }
    }
  }
}
