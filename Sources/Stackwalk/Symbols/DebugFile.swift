internal import Glibc
internal import IntermediateDump

/// Makes a separate debug file, which contains the symbols and the debug information of a binary, but not the binary's
/// code and data.
///
/// The file has the binary's headers and notes, so addresses and the build ID are the same. Loaded sections other
/// than notes have no contents (SHT_NOBITS); all other sections are copied.
///
/// Source: GDB manual, "Separate Debug Files"; System V ABI, chapter 4.
package struct DebugFile {
  private static let headerSize = 64
  private static let programHeaderSize = 56
  private static let sectionHeaderSize = 64
  /// The section type SHT_NOTE.
  private static let noteSection: UInt32 = 7
  /// The segment type PT_PHDR.
  private static let headerSegment: UInt32 = 6
  /// The section flag SHF_ALLOC.
  private static let allocated: UInt64 = 2
  /// The maximum size in bytes of the notes that are copied; the notes of a binary take a few hundred bytes.
  private static let maximumNoteSize: UInt64 = 1 << 20

  private let path: String
  private let image: ELFImage
  /// The ELF header as it is written to the debug file.
  private var header: [UInt8]
  private var programHeaders: [UInt8]
  private var sectionHeaders: [UInt8]
  /// The parts of the binary that are copied, in the order of the debug file: after the program headers, and before the
  /// section headers.
  private var parts: [Part] = []
  private var end: UInt64 = 0

  /// A range of the binary's bytes, and the position of its copy in the debug file.
  private struct Part {
    let source: UInt64
    let size: UInt64
    let position: UInt64
  }

  /// The binary's build ID; never empty.
  package let buildID: [UInt8]

  /// The path, below a directory of debug files, at which debuggers look for the file.
  package var name: String {
    ".build-id/\(buildID.hexadecimal.prefix(2))/\(buildID.hexadecimal.dropFirst(2)).debug"
  }

  /// Opens a binary and computes the layout of its debug file.
  ///
  /// - Throws: `StackwalkError` if the binary cannot be read, has no build ID, or has neither symbols nor debug
  ///   information.
  package init(of path: String) throws(StackwalkError) {
    self.path = path
    image = try ELFImage(path: path)
    buildID = image.elf.buildID
    guard buildID.count > 1 else { throw StackwalkError(.noBuildID, path: path) }
    guard image.hasSymbolTable || image.hasDebugInformation else {
      throw StackwalkError(.noSymbols, path: path)
    }
    guard let header = image.elf.file.bytes(at: 0, count: Self.headerSize),
      let segmentOffset = header.littleEndian(at: 32, as: UInt64.self),
      let segmentCount = header.littleEndian(at: 56, as: UInt16.self),
      let sectionOffset = header.littleEndian(at: 40, as: UInt64.self),
      let sectionCount = header.littleEndian(at: 60, as: UInt16.self),
      let segments = image.elf.file.bytes(
        at: segmentOffset, count: Int(segmentCount) * Self.programHeaderSize),
      let sections = image.elf.file.bytes(
        at: sectionOffset, count: Int(sectionCount) * Self.sectionHeaderSize)
    else { throw StackwalkError(.notELF, path: path) }
    self.header = header
    programHeaders = segments
    sectionHeaders = sections
    end = headersSize
    placeSegments()
    placeSections()
    align(to: 8)
    self.header.replaceLittleEndian(at: 32, with: UInt64(Self.headerSize))
    self.header.replaceLittleEndian(at: 40, with: end)
  }

  /// Writes the debug file to a descriptor.
  ///
  /// - Throws: `StackwalkError` with the errno if writing fails, or with the code `notELF` if the binary has been
  ///   truncated in the meantime.
  package func write(to descriptor: Int32, named target: String) throws(StackwalkError) {
    try Self.write(header + programHeaders, at: 0, to: descriptor, named: target)
    for part in parts {
      var done: UInt64 = 0
      while done < part.size {
        let count = Int(clamping: min(1 << 20, part.size &- done))
        guard let bytes = image.elf.file.bytes(at: part.source &+ done, count: count) else {
          throw StackwalkError(.notELF, path: path)
        }
        try Self.write(bytes, at: part.position &+ done, to: descriptor, named: target)
        done &+= UInt64(count)
      }
    }
    try Self.write(sectionHeaders, at: end, to: descriptor, named: target)
  }

  /// Writes bytes at an offset of a file, with as many calls as needed.
  static func write(
    _ bytes: [UInt8], at offset: UInt64, to descriptor: Int32, named target: String
  ) throws(StackwalkError) {
    var done = 0
    while done < bytes.count {
      let result = unsafe bytes.withUnsafeBytes { buffer in
        unsafe pwrite(
          descriptor, buffer.baseAddress! + done, buffer.count - done,
          off_t(clamping: offset) + off_t(done))
      }
      if result < 0, errno == EINTR { continue }
      guard result > 0 else {
        // If write(2) returned 0, errno has the number of an earlier error, so EIO is reported.
        throw StackwalkError(.cannotWrite, path: target, errno: result == 0 ? EIO : errno)
      }
      done += result
    }
  }

  private mutating func align(to alignment: UInt64) {
    let mask = max(1, min(4096, alignment)) &- 1
    end = (end &+ mask) & ~mask
  }

  /// Plans to copy a range of the binary after the parts planned so far; returns the position of the copy.
  private mutating func place(_ source: UInt64, _ size: UInt64, alignment: UInt64) -> UInt64 {
    align(to: alignment.nonzeroBitCount == 1 ? alignment : 8)
    let position = end
    parts.append(Part(source: source, size: size, position: position))
    end &+= size
    return position
  }

  private var headersSize: UInt64 {
    UInt64(Self.headerSize) &+ UInt64(programHeaders.count)
  }

  /// Plans copies of the segments with notes; the other segments get no contents except the ELF headers.
  private mutating func placeSegments() {
    for start in stride(from: 0, to: programHeaders.count, by: Self.programHeaderSize) {
      guard let type = programHeaders.littleEndian(at: start, as: UInt32.self),
        let offset = programHeaders.littleEndian(at: start + 8, as: UInt64.self),
        let address = programHeaders.littleEndian(at: start + 16, as: UInt64.self),
        let size = programHeaders.littleEndian(at: start + 32, as: UInt64.self),
        let alignment = programHeaders.littleEndian(at: start + 48, as: UInt64.self)
      else { continue }
      if type == Self.headerSegment {
        programHeaders.replaceLittleEndian(at: start + 8, with: UInt64(Self.headerSize))
      } else if type == ELFFile.note, isInFile(offset, size), size <= Self.maximumNoteSize {
        let position = place(offset, size, alignment: max(8, alignment))
        programHeaders.replaceLittleEndian(at: start + 8, with: position)
      } else {
        // The first loaded segment begins with the headers, which the debug file has too. The other segments get
        // offsets that are congruent to their addresses, as elf(5) requires.
        let kept = type == ELFFile.load && offset == 0 ? min(size, headersSize) : 0
        let page = max(4096, alignment.nonzeroBitCount == 1 ? alignment : 0)
        programHeaders.replaceLittleEndian(
          at: start + 8, with: kept > 0 ? 0 : address & (page &- 1))
        programHeaders.replaceLittleEndian(at: start + 32, with: kept)
      }
    }
  }

  /// Sets the position of each section in the debug file, and plans copies of the sections that are not loaded.
  ///
  /// Loaded sections other than notes get no contents.
  private mutating func placeSections() {
    for start in stride(from: 0, to: sectionHeaders.count, by: Self.sectionHeaderSize) {
      guard let type = sectionHeaders.littleEndian(at: start + 4, as: UInt32.self),
        let flags = sectionHeaders.littleEndian(at: start + 8, as: UInt64.self),
        let offset = sectionHeaders.littleEndian(at: start + 24, as: UInt64.self),
        let size = sectionHeaders.littleEndian(at: start + 32, as: UInt64.self),
        let alignment = sectionHeaders.littleEndian(at: start + 48, as: UInt64.self)
      else { continue }
      // Skip a section of type SHT_NULL.
      if type == 0 { continue }
      if flags & Self.allocated != 0 {
        let note = type == Self.noteSection ? keptPosition(of: offset, size) : nil
        if note == nil {
          sectionHeaders.replaceLittleEndian(at: start + 4, with: ELFFile.noBits)
        }
        sectionHeaders.replaceLittleEndian(at: start + 24, with: note ?? end)
      } else if type == ELFFile.noBits || !isInFile(offset, size) {
        sectionHeaders.replaceLittleEndian(at: start + 4, with: ELFFile.noBits)
        sectionHeaders.replaceLittleEndian(at: start + 24, with: end)
      } else {
        let position = place(offset, size, alignment: alignment)
        sectionHeaders.replaceLittleEndian(at: start + 24, with: position)
      }
    }
  }

  private func isInFile(_ offset: UInt64, _ size: UInt64) -> Bool {
    let (end, overflow) = offset.addingReportingOverflow(size)
    return !overflow && end <= image.elf.file.size
  }

  /// The position of the copy of bytes that lie in a note segment; nil for other bytes.
  private func keptPosition(of offset: UInt64, _ size: UInt64) -> UInt64? {
    for part in parts where offset >= part.source {
      let distance = offset &- part.source
      guard distance <= part.size, size <= part.size &- distance else { continue }
      return part.position &+ distance
    }
    return nil
  }
}

extension [UInt8] {
  /// Overwrites bytes with a number; does nothing if the number does not fit into the array.
  fileprivate mutating func replaceLittleEndian<Value: FixedWidthInteger>(
    at offset: Int, with value: Value
  ) {
    let size = Value.bitWidth / 8
    guard offset >= 0, offset <= count - size else { return }
    for index in 0..<size {
      self[offset + index] = UInt8(truncatingIfNeeded: value >> (index * 8))
    }
  }
}
