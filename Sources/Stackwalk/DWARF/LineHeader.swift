/// What stands in front of a line program: how to run it, folders and files.
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
  /// Where the program starts in the bytes of the whole.
  let programStart: Int
  private let bytes: [UInt8]
  private var directories: [DWARFValue] = []
  private var files: [File] = []

  /// More files than any unit has.
  private static let maximumCount = 1 << 20

  /// Reads the header; nil for one that makes no sense.
  ///
  /// - Parameters:
  ///   - bytes: of the whole program, the initial length included.
  ///   - addressSize: of the unit, for versions whose header does not tell.
  init?(_ bytes: [UInt8], addressSize: Int) {
    var cursor = DWARFReader(bytes)
    guard let (_, offsetSize) = cursor.initialLength() else { return nil }
    let version = cursor.u16()
    guard (2...5).contains(version) else { return nil }
    var width = addressSize
    if version >= 5 {
      width = Int(cursor.u8())
      // Segment selectors.
      guard cursor.u8() == 0, [4, 8].contains(width) else { return nil }
    }
    let headerLength = cursor.unsigned(offsetSize)
    let headerStart = cursor.offset
    minimumInstructionLength = UInt64(cursor.u8())
    // Operations of one instruction: more than one only on VLIW machines.
    if version >= 4 { _ = cursor.u8() }
    // is_stmt's first value.
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
    // Only what the header itself needs is kept.
    self.bytes = Array(bytes[..<programStart])
    if version >= 5 {
      readTables(&tables)
    } else {
      readOldTables(&tables)
    }
  }

  /// Bytes of memory it takes, about.
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
      // Time and size.
      _ = cursor.uleb()
      _ = cursor.uleb()
      files.append(File(name: .text(name), directory: Int(clamping: directory)))
    }
  }

  private mutating func readTables(_ cursor: inout DWARFReader) {
    let directoryEntries = readEntries(&cursor)
    directories = directoryEntries.map(\.name)
    files = readEntries(&cursor)
  }

  private func readEntries(_ cursor: inout DWARFReader) -> [File] {
    var formats: [(content: UInt64, form: UInt64)] = []
    for _ in 0..<cursor.u8() { formats.append((cursor.uleb(), cursor.uleb())) }
    let count = cursor.uleb()
    var entries: [File] = []
    guard !cursor.hasFailed, !formats.isEmpty else { return entries }
    while entries.count < min(count, UInt64(Self.maximumCount)), !cursor.isAtEnd {
      var entry = File(name: .other, directory: 0)
      for (content, form) in formats {
        let value = DWARFValue.read(form, 0, &cursor, format)
        // DW_LNCT_path and DW_LNCT_directory_index.
        if content == 1 { entry.name = value }
        if content == 2, case .number(let number) = value {
          entry.directory = Int(clamping: number)
        }
      }
      if cursor.hasFailed { break }
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

  /// A file's path, absolute if the compiler was told where it ran.
  func path(of number: Int, directory: String?, sections: DWARFSections) -> String? {
    // Before version 5 files and folders count from 1, and folder 0 is the compiler's.
    let isOld = format.version < 5
    let index = isOld ? number - 1 : number
    guard files.indices.contains(index), let name = text(files[index].name, sections) else {
      return nil
    }
    if name.hasPrefix("/") { return name }
    let folderIndex = isOld ? files[index].directory - 1 : files[index].directory
    var folder =
      directories.indices.contains(folderIndex)
      ? text(directories[folderIndex], sections) ?? "" : ""
    if !folder.hasPrefix("/"), let directory, !directory.isEmpty {
      folder = folder.isEmpty ? directory : Self.joined(directory, folder)
    }
    return folder.isEmpty ? name : Self.joined(folder, name)
  }

  private static func joined(_ folder: String, _ name: String) -> String {
    folder.hasSuffix("/") ? folder + name : folder + "/" + name
  }
}
