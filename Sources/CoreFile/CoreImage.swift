internal import IntermediateDump
internal import ProcessSnapshot

/// The headers of an ELF core file, which give the file offsets of the memory segments and the notes.
///
/// `CoreImage` reads only the headers, and checks all offsets and sizes in them. So other code need not check the
/// offsets and sizes again.
///
/// Source: System V ABI, chapters 4 and 5 (`Elf64_Ehdr`, `Elf64_Phdr`); elf(5), PN_XNUM; Linux
/// fs/binfmt_elf.c, elf_core_dump().
struct CoreImage {
  /// One range of the process's memory.
  struct Segment {
    let range: AddressRange
    let protection: MemoryMapping.Protection
    /// The range of the segment's bytes in the file; empty if the file has none.
    let contents: Range<Int>
    /// The number of bytes that the header announces but the file lacks.
    let missingCount: UInt64
  }

  /// The maximum number of program headers that are read; a process has at most 65,530 mappings by default.
  private static let maximumHeaders = 1 << 18
  private static let headerSize = 56
  private static let (load, note): (UInt64, UInt64) = (1, 4)

  let bytes: DumpBytes
  let architecture: ProcessSnapshot.Architecture
  /// The segments, in the file's order.
  private(set) var segments: [Segment] = []
  private(set) var notes: [Range<Int>] = []
  /// The number of bytes of notes that the headers announce but the file lacks.
  private(set) var missingNoteCount: UInt64 = 0
  /// True if the file ends before the section header that has the number of program headers.
  private var lacksSectionHeader = false
  /// The number of program headers that were not read, because there are more than `maximumHeaders` or the file ends
  /// before them.
  private(set) var missingHeaders = 0

  /// Returns true if a file begins like an ELF core file, for any processor.
  static func isCore(_ start: ArraySlice<UInt8>) -> Bool {
    start.starts(with: [0x7F, 0x45, 0x4C, 0x46]) && half(start, at: 16) == 4
  }

  /// Reads a number of 16 bits in the byte order that the ELF header states.
  private static func half(_ header: ArraySlice<UInt8>, at offset: Int) -> UInt16? {
    let number = header.littleEndian(at: offset, as: UInt16.self)
    return header.littleEndian(at: 5, width: 1) == 2 ? number?.byteSwapped : number
  }

  /// The processors of core files that are refused, by `e_machine`.
  ///
  /// Source: System V gABI, "Machine Information"; elf.h of glibc.
  private static let machines: [UInt16: String] = [
    2: "SPARC", 3: "x86 (32 bits)", 8: "MIPS", 20: "PowerPC (32 bits)", 21: "PowerPC",
    22: "IBM Z (s390)", 40: "ARM (32 bits)", 43: "SPARC (64 bits)", 62: "x86_64", 183: "arm64",
    243: "RISC-V", 258: "LoongArch",
  ]

  /// The processor, the size of its words and its byte order, as far as the ELF header states them.
  private static func processor(_ header: ArraySlice<UInt8>) -> String {
    let machine = half(header, at: 18) ?? 0
    let bits = header.littleEndian(at: 4, width: 1) == 1 ? "32 bits" : "64 bits"
    let order = header.littleEndian(at: 5, width: 1) == 2 ? ", big-endian" : ""
    return "\(machines[machine] ?? "unknown") (machine \(machine), \(bits)\(order))"
  }

  init(_ bytes: DumpBytes) throws(CoreError) {
    self.bytes = bytes
    guard let header = bytes.slice(0..<min(bytes.count, 64)), Self.isCore(header) else {
      throw CoreError(.notACore, "byte 0")
    }
    // The file must be 64-bit and little-endian.
    guard header.littleEndian(at: 4, width: 2) == 0x0102,
      let machine = header.littleEndian(at: 18, width: 2), machine == 62 || machine == 183
    else {
      throw CoreError(.unsupportedArchitecture, Self.processor(header))
    }
    architecture = machine == 62 ? .x86_64 : .arm64
    guard let offset = header.littleEndian(at: 32, width: 8).flatMap({ Int(exactly: $0) }),
      let size = header.littleEndian(at: 54, width: 2), size == UInt64(Self.headerSize),
      let count = header.littleEndian(at: 56, width: 2)
    else { throw CoreError(.notACore, "no program headers") }
    let isExtended = count == 0xFFFF
    readHeaders(at: offset, count: isExtended ? extendedCount(header, offset) : Int(count))
  }

  /// Reads the number of program headers from `sh_info` of the first section, where a number that needs more than 16
  /// bits is stored.
  ///
  /// The kernel writes the section header at the end of the file, so it is the first part that a truncated file lacks.
  /// The contents of the first segment directly follow the program headers; their number is then computed from this.
  private mutating func extendedCount(_ header: ArraySlice<UInt8>, _ start: Int) -> Int {
    if let section = header.littleEndian(at: 40, width: 8).flatMap({ Int(exactly: $0) }),
      section > 0, section <= bytes.count, let count = bytes.integer(at: section + 44, width: 4)
    {
      return Int(clamping: count)
    }
    lacksSectionHeader = true
    guard start <= bytes.count, let end = bytes.integer(at: start + 8, width: 8) else {
      return 0xFFFF
    }
    let size = Int(clamping: end.clampedSubtracting(UInt64(start)))
    return max(0xFFFF, size / Self.headerSize)
  }

  private mutating func readHeaders(at start: Int, count: Int) {
    let fitting = start < bytes.count ? (bytes.count - start) / Self.headerSize : 0
    let read = min(count, fitting, Self.maximumHeaders)
    missingHeaders = count - read
    // Headers are read 256 at a time (14 KiB), because `DumpBytes` reads the file in pages of 16 KiB.
    let step = 256
    for first in stride(from: 0, to: read, by: step) {
      let place = start + first * Self.headerSize
      let inStep = min(step, read - first)
      guard let headers = bytes.slice(place..<place + inStep * Self.headerSize) else { return }
      for index in 0..<inStep { readHeader(headers, at: index * Self.headerSize) }
    }
  }

  private mutating func readHeader(_ headers: ArraySlice<UInt8>, at offset: Int) {
    guard let type = headers.littleEndian(at: offset, width: 4),
      let flags = headers.littleEndian(at: offset + 4, width: 4),
      let fileOffset = headers.littleEndian(at: offset + 8, width: 8),
      let address = headers.littleEndian(at: offset + 16, width: 8),
      let fileSize = headers.littleEndian(at: offset + 32, width: 8),
      let memorySize = headers.littleEndian(at: offset + 40, width: 8)
    else { return }
    switch type {
    case Self.load:
      let range = AddressRange(start: Address(address), byteCount: max(memorySize, fileSize))
      guard !range.isEmpty else { return }
      var protection: MemoryMapping.Protection = []
      if flags & 4 != 0 { protection.insert(.read) }
      if flags & 2 != 0 { protection.insert(.write) }
      if flags & 1 != 0 { protection.insert(.execute) }
      let wanted = min(fileSize, range.byteCount)
      let contents = part(of: fileOffset, size: wanted)
      segments.append(
        Segment(
          range: range, protection: protection, contents: contents,
          missingCount: wanted &- UInt64(contents.count)))
    case Self.note:
      let contents = part(of: fileOffset, size: fileSize)
      notes.append(contents)
      missingNoteCount = missingNoteCount.clampedAdding(fileSize &- UInt64(contents.count))
    default: return
    }
  }

  /// The part of a range that lies inside the file; empty if no part does.
  private func part(of offset: UInt64, size: UInt64) -> Range<Int> {
    guard let start = Int(exactly: offset), start < bytes.count else { return 0..<0 }
    return start..<start + Int(clamping: min(size, UInt64(bytes.count - start)))
  }
}

extension CoreImage {
  /// The parts of the process's memory whose bytes are in the core file.
  var memory: [MemoryRegion] {
    segments.filter { !$0.contents.isEmpty }.map { segment in
      MemoryRegion(
        address: segment.range.start, contents: CapturedBytes(of: bytes, segment.contents))
    }
  }

  /// A sentence about missing parts of the file; nil if the file is complete.
  var damage: String? {
    let cut = segments.filter { $0.missingCount > 0 }
    let bytes = cut.reduce(missingNoteCount) { $0.clampedAdding($1.missingCount) }
    guard bytes > 0 || missingHeaders > 0 || lacksSectionHeader else { return nil }
    var parts: [String] = []
    if !cut.isEmpty {
      parts.append("all or a part of \(cut.count) of \(segments.count) segments")
    }
    if missingNoteCount > 0 { parts.append("a part of its notes") }
    if missingHeaders > 0 { parts.append("\(missingHeaders) program headers") }
    if lacksSectionHeader { parts.append("the section header with the number of program headers") }
    return "the core file is cut off: it lacks " + parts.joined(separator: " and ")
      + (bytes > 0 ? ", \(bytes) bytes" : "")
  }
}
