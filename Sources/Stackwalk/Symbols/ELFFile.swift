internal import Glibc
internal import IntermediateDump
package import ProcessSnapshot

/// The program headers, the sections and the build ID of a 64-bit little-endian ELF file.
///
/// Every offset is checked against the size of the file, so a damaged file causes no read outside of it.
///
/// Source: System V ABI, chapters 4 and 5 (`Elf64_Ehdr`, `Elf64_Phdr`, `Elf64_Shdr`); elf(5).
package struct ELFFile: ~Copyable {
  struct Segment {
    var type: UInt32
    var flags: UInt32
    var fileOffset: UInt64
    var address: Address
    var fileSize: UInt64
    var memorySize: UInt64

    var memoryRange: AddressRange { AddressRange(start: address, byteCount: memorySize) }
  }

  package struct Section {
    /// The name of the section; empty if the file does not name it.
    var name: String
    package var type: UInt32
    var flags: UInt64
    var address: Address
    var fileOffset: UInt64
    var size: UInt64
    /// The index of another section, whose meaning depends on the type.
    package var link: UInt32
  }

  static let load: UInt32 = 1
  static let note: UInt32 = 4
  /// The type SHT_NOBITS.
  ///
  /// A separate debug file uses this type for sections with code, because it has only their headers.
  static let noBits: UInt32 = 8
  static let exceptionFrameHeader: UInt32 = 0x6474_E550

  let file: ModuleFile
  let segments: [Segment]
  /// The loaded segments, at most 512; linkers create about four.
  private let loads: [Segment]
  /// The addresses of the segments with code.
  let code: AddressSet
  package let sections: [Section]
  /// True for an arm64 file (EM_AARCH64).
  let isARM64: Bool

  package init(path: String) throws(StackwalkError) {
    let file = try ModuleFile(path: path)
    guard let header = file.bytes(at: 0, count: 64),
      // The magic number, then the codes for 64-bit, little-endian and version 1.
      header.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1]),
      let segments = Self.segments(file, header)
    else { throw StackwalkError(.notELF, path: path) }
    self.segments = segments
    loads = Array(segments.lazy.filter { $0.type == Self.load }.prefix(512))
    code = AddressSet(
      segments.lazy.filter { $0.type == Self.load && $0.flags & 1 != 0 }
        .map(\.memoryRange))
    sections = Self.sections(file, header)
    isARM64 = header.littleEndian(at: 18, as: UInt16.self) == 183
    self.file = file
  }

  /// Reads the program headers of a file that begins with the given ELF header; nil if the file begins otherwise, or cannot
  /// be read.
  package static func programHeaders(
    of path: String, beginningWith header: ArraySlice<UInt8>
  ) -> [UInt8]? {
    guard let file = try? ModuleFile(path: path),
      let own = file.bytes(at: 0, count: header.count), own.elementsEqual(header)
    else { return nil }
    return programHeaders(file, own)
  }

  private static func programHeaders(
    _ file: borrowing ModuleFile, _ header: [UInt8]
  ) -> [UInt8]? {
    guard let offset = header.littleEndian(at: 32, as: UInt64.self),
      header.littleEndian(at: 54, as: UInt16.self) == 56,
      let count = header.littleEndian(at: 56, as: UInt16.self)
    else { return nil }
    return file.bytes(at: offset, count: Int(count) * 56)
  }

  /// Finds the first section with this name that has contents in this file; nil if there is no such section.
  func section(named name: String) -> Section? {
    sections.first { $0.name == name && $0.type != Self.noBits && $0.size > 0 }
  }

  /// Reads the contents of a section; nil if the file does not have all of them.
  package func bytes(of section: Section) -> [UInt8]? {
    file.bytes(at: section.fileOffset, count: Int(clamping: section.size))
  }

  /// The address of the first loaded page; a module's load bias is the module's address minus this address.
  package var firstAddress: Address? {
    segments.first { $0.type == Self.load }.map { $0.address.alignedDown(to: 0x1000) }
  }

  /// Reads the bytes of the file that are loaded at an address; nil if the file does not have all of them.
  func loadedBytes(at address: Address, count: Int) -> [UInt8]? {
    guard count >= 0 else { return nil }
    for segment in loads {
      guard let offset = address.distance(above: segment.address), offset < segment.fileSize,
        UInt64(count) <= segment.fileSize &- offset
      else { continue }
      let (fileOffset, overflow) = segment.fileOffset.addingReportingOverflow(offset)
      return overflow ? nil : file.bytes(at: fileOffset, count: count)
    }
    return nil
  }

  /// The build ID, which is the descriptor of the note NT_GNU_BUILD_ID; empty if there is no such note.
  package var buildID: [UInt8] {
    for segment in segments where segment.type == Self.note && segment.fileSize <= 1 << 16 {
      if let notes = file.bytes(at: segment.fileOffset, count: Int(clamping: segment.fileSize)),
        let found = Self.buildID(inNotes: notes)
      {
        return found
      }
    }
    return []
  }

  package static func buildID(inNotes notes: [UInt8]) -> [UInt8]? {
    var offset = 0
    while let nameSize = notes.littleEndian(at: offset, as: UInt32.self),
      let size = notes.littleEndian(at: offset + 4, as: UInt32.self),
      let type = notes.littleEndian(at: offset + 8, as: UInt32.self)
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
    guard let table = programHeaders(file, header) else { return nil }
    return stride(from: 0, to: table.count, by: 56).compactMap { start in
      guard let type = table.littleEndian(at: start, as: UInt32.self),
        let flags = table.littleEndian(at: start + 4, as: UInt32.self),
        let fileOffset = table.littleEndian(at: start + 8, as: UInt64.self),
        let address = table.littleEndian(at: start + 16, as: UInt64.self),
        let fileSize = table.littleEndian(at: start + 32, as: UInt64.self),
        let memorySize = table.littleEndian(at: start + 40, as: UInt64.self)
      else { return nil }
      return Segment(
        type: type, flags: flags, fileOffset: fileOffset, address: Address(address),
        fileSize: fileSize, memorySize: memorySize)
    }
  }

  /// Reads the section headers; the result is empty for a file without them, such as some stripped files.
  private static func sections(_ file: borrowing ModuleFile, _ header: [UInt8]) -> [Section] {
    guard let offset = header.littleEndian(at: 40, as: UInt64.self),
      header.littleEndian(at: 58, as: UInt16.self) == 64,
      let count = header.littleEndian(at: 60, as: UInt16.self),
      let table = file.bytes(at: offset, count: Int(count) * 64)
    else { return [] }
    let names = sectionNames(file, header, table)
    return stride(from: 0, to: table.count, by: 64).compactMap { start in
      guard let name = table.littleEndian(at: start, as: UInt32.self),
        let type = table.littleEndian(at: start + 4, as: UInt32.self),
        let flags = table.littleEndian(at: start + 8, as: UInt64.self),
        let address = table.littleEndian(at: start + 16, as: UInt64.self),
        let fileOffset = table.littleEndian(at: start + 24, as: UInt64.self),
        let size = table.littleEndian(at: start + 32, as: UInt64.self),
        let link = table.littleEndian(at: start + 40, as: UInt32.self)
      else { return nil }
      return Section(
        name: Self.text(in: names, at: Int(name)), type: type, flags: flags,
        address: Address(address), fileOffset: fileOffset, size: size, link: link)
    }
  }

  /// Reads the string table of section names; empty if there is none or it is implausibly large.
  private static func sectionNames(
    _ file: borrowing ModuleFile, _ header: [UInt8], _ table: [UInt8]
  ) -> [UInt8] {
    guard let index = header.littleEndian(at: 62, as: UInt16.self),
      let offset = table.littleEndian(at: Int(index) * 64 + 24, as: UInt64.self),
      let size = table.littleEndian(at: Int(index) * 64 + 32, as: UInt64.self), size <= 1 << 20
    else { return [] }
    return file.bytes(at: offset, count: Int(clamping: size)) ?? []
  }

  /// Reads at most 32 bytes of a section's name; returns an empty string if `offset` is outside the table of names.
  ///
  /// All section names that this package searches for are shorter than 32 bytes.
  private static func text(in names: [UInt8], at offset: Int) -> String {
    guard names.indices.contains(offset) else { return "" }
    return String(decoding: names[offset...].prefix(32).prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// A set of addresses, stored as ranges.
struct AddressSet {
  /// The ranges, sorted and without overlaps.
  private let ranges: [AddressRange]

  init(_ unsorted: some Sequence<AddressRange>) {
    var ranges: [AddressRange] = []
    for range in unsorted.filter({ !$0.isEmpty }).sorted(by: { $0.start < $1.start }) {
      guard let last = ranges.last, last.clampedEnd >= range.start else {
        ranges.append(range)
        continue
      }
      if let end = range.last, let known = last.last, end > known,
        let joined = AddressRange(from: last.start, through: end)
      {
        ranges[ranges.count - 1] = joined
      }
    }
    self.ranges = ranges
  }

  /// The range that contains an address; nil if none does.
  func range(around address: Address) -> AddressRange? {
    let index = ranges.partitioningIndex { $0.start > address } - 1
    return index >= 0 && ranges[index].contains(address) ? ranges[index] : nil
  }

  func contains(_ address: Address) -> Bool { range(around: address) != nil }
}

/// An open ELF file that several readers share.
final class ELFImage {
  let path: String
  let elf: ELFFile

  init(path: String) throws(StackwalkError) {
    self.path = path
    elf = try ELFFile(path: path)
  }
}

/// An open file of a module on this machine.
///
/// The file is read and not mapped, because an access to a mapped file raises SIGBUS once the file has been
/// truncated.
struct ModuleFile: ~Copyable {
  private let descriptor: Int32
  let size: UInt64
  /// The file's modification time in nanoseconds since 1970.
  let modificationTime: Int64

  /// Identifies a file independently of its path.
  struct Identity: Hashable {
    let device: UInt64
    let inode: UInt64
  }

  /// Opens a regular file.
  ///
  /// The path may come from a dump and name any kind of file. O_NONBLOCK prevents `open` from blocking on a FIFO, and
  /// a device is refused after it was opened.
  init(path: String) throws(StackwalkError) {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else {
      let failure = errno
      SystemRefusals.note(failure)
      throw StackwalkError(.cannotOpen, path: path, errno: failure)
    }
    var information = stat()
    guard unsafe fstat(descriptor, &information) == 0 else {
      let failure = errno
      SystemRefusals.note(failure)
      close(descriptor)
      throw StackwalkError(.cannotOpen, path: path, errno: failure)
    }
    guard information.st_mode & S_IFMT == S_IFREG, information.st_size >= 0 else {
      close(descriptor)
      throw StackwalkError(.notAFile, path: path)
    }
    self.descriptor = descriptor
    size = UInt64(information.st_size)
    modificationTime =
      Int64(information.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(information.st_mtim.tv_nsec)
  }

  deinit { close(descriptor) }

  /// The identity of the file at a path; nil if there is no file, or if stat(2) fails for another reason.
  static func identity(of path: String) -> Identity? {
    var information = stat()
    guard unsafe stat(path, &information) == 0 else {
      SystemRefusals.note(errno)
      return nil
    }
    return Identity(device: UInt64(information.st_dev), inode: UInt64(information.st_ino))
  }

  /// Reads `count` bytes at an offset; nil if the file is shorter or cannot be read.
  func bytes(at offset: UInt64, count: Int) -> [UInt8]? {
    guard count >= 0, offset <= size, UInt64(count) <= size &- offset else { return nil }
    var isComplete = true
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      while initialized < count {
        let result = unsafe pread(
          descriptor, buffer.baseAddress! + initialized, count - initialized,
          off_t(clamping: offset) + initialized)
        if result < 0 && errno == EINTR { continue }
        guard result > 0 else {
          if result < 0 { SystemRefusals.note(errno) }
          isComplete = false
          break
        }
        initialized += result
      }
    }
    return isComplete ? bytes : nil
  }

  /// The bytes of the whole file, which are read only when they are used; nil if no descriptor is free.
  var contents: DumpBytes? {
    Int(exactly: size).flatMap { DumpBytes(descriptor: descriptor, count: $0) }
  }

  /// Reads text up to a NUL; nil if the first `limit` bytes contain no NUL, or if they cannot be read.
  func string(at offset: UInt64, limit: Int) -> String? {
    guard offset < size else { return nil }
    var length = min(256, Int(clamping: min(UInt64(limit), size &- offset)))
    while let bytes = bytes(at: offset, count: length) {
      if let end = bytes.firstIndex(of: 0) { return String(decoding: bytes[..<end], as: UTF8.self) }
      let longest = Int(clamping: min(UInt64(limit), size &- offset))
      guard length < longest else { return nil }
      length = longest
    }
    return nil
  }
}
