package import ProcessSnapshot

/// The parts of an ELF file that name functions: program headers, sections, build ID.
///
/// Reads what it is asked for and checks every offset against the file. Source: System V ABI,
/// chapters 4 and 5 (`Elf64_Ehdr`, `Elf64_Phdr`, `Elf64_Shdr`); elf(5).
package struct ELFFile: ~Copyable {
  struct Segment {
    var type: UInt32
    var flags: UInt32
    var fileOffset: UInt64
    var address: Address
    var fileSize: UInt64
    var memorySize: UInt64

    /// Where it lies in memory.
    var memoryRange: AddressRange { AddressRange(start: address, byteCount: memorySize) }
  }

  struct Section {
    /// Empty where the file names none.
    var name: String
    var type: UInt32
    var flags: UInt64
    var address: Address
    var fileOffset: UInt64
    var size: UInt64
    var link: UInt32
    var entrySize: UInt64
  }

  static let load: UInt32 = 1
  private static let note: UInt32 = 4
  /// A section that a file without contents keeps the headers of, as a split debug file does.
  private static let noBits: UInt32 = 8
  static let exceptionFrameHeader: UInt32 = 0x6474_E550

  let file: ModuleFile
  let segments: [Segment]
  let sections: [Section]

  package init(path: String) throws(StackwalkError) {
    let file = try ModuleFile(path: path)
    guard let header = file.bytes(at: 0, count: 64),
      // Magic, 64-bit, little-endian, version 1.
      header.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1]),
      let segments = Self.segments(file, header)
    else { throw StackwalkError(.notELF, path: path) }
    self.segments = segments
    sections = Self.sections(file, header)
    self.file = file
  }

  /// The first section of a name that has contents in this file.
  func section(named name: String) -> Section? {
    sections.first { $0.name == name && $0.type != Self.noBits && $0.size > 0 }
  }

  /// Where the first loaded page wants to lie: a module's address minus this is what was added to
  /// every address.
  package var firstAddress: Address? {
    segments.first { $0.type == Self.load }.map { $0.address.alignedDown(to: 0x1000) }
  }

  /// The bytes that are loaded at an address of the file's own numbering; nil outside the file's
  /// contents.
  func loadedBytes(at address: Address, count: Int) -> [UInt8]? {
    guard count >= 0 else { return nil }
    for segment in segments where segment.type == Self.load {
      guard let offset = address.distance(above: segment.address), offset < segment.fileSize,
        UInt64(count) <= segment.fileSize &- offset
      else { continue }
      let (fileOffset, overflow) = segment.fileOffset.addingReportingOverflow(offset)
      return overflow ? nil : file.bytes(at: fileOffset, count: count)
    }
    return nil
  }

  /// The descriptor of the note GNU/NT_GNU_BUILD_ID; empty if there is none.
  package var buildID: [UInt8] {
    for segment in segments where segment.type == Self.note && segment.fileSize <= 1 << 16 {
      guard let notes = file.bytes(at: segment.fileOffset, count: Int(clamping: segment.fileSize))
      else {
        continue
      }
      if let found = Self.buildID(inNotes: notes) { return found }
    }
    return []
  }

  static func buildID(inNotes notes: [UInt8]) -> [UInt8]? {
    var offset = 0
    while let nameSize = notes.integer(at: offset, as: UInt32.self),
      let size = notes.integer(at: offset + 4, as: UInt32.self),
      let type = notes.integer(at: offset + 8, as: UInt32.self)
    {
      let name = offset + 12
      let descriptor = name + (Int(nameSize) + 3) & ~3
      let end = descriptor + Int(size)
      guard end <= notes.count else { return nil }
      if type == 3, nameSize == 4, notes[name..<name + 4].elementsEqual([0x47, 0x4E, 0x55, 0]) {
        return Array(notes[descriptor..<end])
      }
      offset = (end + 3) & ~3
    }
    return nil
  }

  private static func segments(_ file: borrowing ModuleFile, _ header: [UInt8]) -> [Segment]? {
    guard let offset = header.integer(at: 32, as: UInt64.self),
      header.integer(at: 54, as: UInt16.self) == 56,
      let count = header.integer(at: 56, as: UInt16.self),
      let table = file.bytes(at: offset, count: Int(count) * 56)
    else { return nil }
    return stride(from: 0, to: table.count, by: 56).compactMap { start in
      guard let type = table.integer(at: start, as: UInt32.self),
        let flags = table.integer(at: start + 4, as: UInt32.self),
        let fileOffset = table.integer(at: start + 8, as: UInt64.self),
        let address = table.integer(at: start + 16, as: UInt64.self),
        let fileSize = table.integer(at: start + 32, as: UInt64.self),
        let memorySize = table.integer(at: start + 40, as: UInt64.self)
      else { return nil }
      return Segment(
        type: type, flags: flags, fileOffset: fileOffset, address: Address(address),
        fileSize: fileSize,
        memorySize: memorySize)
    }
  }

  /// Empty where a file has no section headers, which is no damage.
  private static func sections(_ file: borrowing ModuleFile, _ header: [UInt8]) -> [Section] {
    guard let offset = header.integer(at: 40, as: UInt64.self),
      header.integer(at: 58, as: UInt16.self) == 64,
      let count = header.integer(at: 60, as: UInt16.self),
      let table = file.bytes(at: offset, count: Int(count) * 64)
    else { return [] }
    let names = sectionNames(file, header, table)
    return stride(from: 0, to: table.count, by: 64).compactMap { start in
      guard let name = table.integer(at: start, as: UInt32.self),
        let type = table.integer(at: start + 4, as: UInt32.self),
        let flags = table.integer(at: start + 8, as: UInt64.self),
        let address = table.integer(at: start + 16, as: UInt64.self),
        let fileOffset = table.integer(at: start + 24, as: UInt64.self),
        let size = table.integer(at: start + 32, as: UInt64.self),
        let link = table.integer(at: start + 40, as: UInt32.self),
        let entrySize = table.integer(at: start + 56, as: UInt64.self)
      else { return nil }
      return Section(
        name: names.text(at: Int(name)), type: type, flags: flags, address: Address(address),
        fileOffset: fileOffset, size: size, link: link,
        entrySize: entrySize)
    }
  }
  /// The string table of section names; empty where there is none, or one larger than any.
  private static func sectionNames(
    _ file: borrowing ModuleFile, _ header: [UInt8], _ table: [UInt8]
  ) -> [UInt8] {
    guard let index = header.integer(at: 62, as: UInt16.self),
      let offset = table.integer(at: Int(index) * 64 + 24, as: UInt64.self),
      let size = table.integer(at: Int(index) * 64 + 32, as: UInt64.self), size <= 1 << 20
    else { return [] }
    return file.bytes(at: offset, count: Int(clamping: size)) ?? []
  }
}
