internal import IntermediateDump
internal import ProcessSnapshot

/// The call frame information of one module.
///
/// In a table from a file, all addresses are link-time addresses. In a table from the dump's memory, they are addresses
/// of the process.
///
/// A `CFITable` keeps only indexes, with 16 to 32 bytes for each function, and builds them when they are first needed.
final class CFITable {
  /// Where a module's CFI sections are.
  struct Places {
    /// The range of `.eh_frame_hdr`, from its program header.
    var header: AddressRange?
    /// The range of `.eh_frame`; nil if no section header describes it.
    ///
    /// This range is searched for functions that the table in `.eh_frame_hdr` lacks.
    var ehFrame: AddressRange?
    /// The end of the segment that contains `.eh_frame_hdr`; if `.eh_frame` comes after the header, it is read up to this
    /// address.
    var headerSegmentEnd: Address?
    /// All of `.debug_frame`, as offsets in this section; nil if the module's files have no such section.
    ///
    /// The section is not loaded, so it has no addresses.
    var debugFrame: AddressRange?
  }

  /// The maximum number of table entries that are examined for one address.
  ///
  /// More than one entry is examined only because of empty functions (see `fde(at:)`). In practice, fewer empty
  /// functions than this limit are at one address.
  private static let emptyCount = 64

  private let places: Places
  private let source: any CFISource
  private let limit: WorkLimit
  private(set) lazy var header =
    places.header.map {
      EHFrameHeader(at: $0.start.value, size: $0.byteCount, from: source, limit)
    } ?? EHFrameHeader()
  private lazy var ehFrame = ehFrameRange.map {
    FDEIndex(of: .ehFrame, in: $0, from: source, limit)
  }
  private lazy var debugFrame = places.debugFrame.map {
    FDEIndex(of: .debugFrame, in: $0, from: source, limit)
  }

  init(
    _ places: Places, from source: any CFISource, _ limit: WorkLimit = WorkLimit()
  ) {
    self.places = places
    self.source = source
    self.limit = limit
  }

  /// Finds the last start of a function at or below an address in the table of `.eh_frame_hdr`; nil if there is none.
  func functionStart(of address: Address) -> Address? { header.entries(upTo: address).last?.start }

  /// Finds the FDE that covers an address.
  func fde(at address: Address) -> FDE? {
    // A function that only calls `__builtin_unreachable()` has no code. The FDE of such a function is empty, and may
    // start where the next function does. If several FDEs start at one address, lld keeps only one of them in the
    // table. So even if the table's entry does not cover the address, another FDE may cover it.
    for entry in header.entries(upTo: address).reversed().prefix(Self.emptyCount) {
      guard let found = fde(.ehFrame, entry.fde) else { continue }
      if found.range.contains(address) { return found }
      if !found.range.isEmpty { break }
    }
    if let found = ehFrame?.position(of: address).flatMap({ fde(.ehFrame, $0) }) { return found }
    return debugFrame?.position(of: address).flatMap { fde(.debugFrame, $0) }
  }

  /// The range of `.eh_frame`, from the section headers, otherwise from the pointer in `.eh_frame_hdr`.
  private var ehFrameRange: AddressRange? {
    if let known = places.ehFrame { return known }
    guard let start = header.frames, let own = places.header else { return nil }
    let end = start < own.start ? own.start : places.headerSegmentEnd
    return end.map { AddressRange(from: start, to: $0) }
  }

  /// Computes the unwind rules at an address; nil if no FDE covers it, or a limit is reached.
  ///
  /// - Parameter loadBias: the difference between an address in the process and the same address in this table.
  func row(at address: Address, loadBias: UInt64, registerCount: Int) -> CFIRow? {
    guard let fde = fde(at: address), limit.spend(fde.cost),
      var row = CFIProgram.row(of: fde, at: address, registerCount: registerCount)
    else { return nil }
    row.loadBias = loadBias
    return row
  }

  /// Visits the FDEs of `.eh_frame`, then those of `.debug_frame`, each sorted by address.
  ///
  /// An FDE is skipped if it is empty or cannot be read, if it overlaps the one before it, or if it is in
  /// `.debug_frame` and `.eh_frame` covers its start.
  func visitDescriptions(_ body: (FDE) -> Void) {
    var end: Address = 0
    func visit(_ section: CFISection, _ position: UInt64) {
      guard limit.spend(32), let fde = fde(section, position), !fde.range.isEmpty,
        fde.range.start >= end
      else { return }
      end = fde.range.clampedEnd
      body(fde)
    }
    let known = ehFrame?.positions ?? header.entries.map(\.fde)
    for position in known { visit(.ehFrame, position) }
    guard let debugFrame else { return }
    end = 0
    for position in debugFrame.positions {
      guard let start = fde(.debugFrame, position)?.range.start,
        ehFrame?.position(of: start) == nil
      else { continue }
      visit(.debugFrame, position)
    }
  }

  private func fde(_ section: CFISection, _ position: UInt64) -> FDE? {
    guard let entry = CFIEntry(of: section, at: position, from: source),
      case .fde(let ciePosition) = entry.kind,
      let cie = CFIEntry(of: section, at: ciePosition, from: source).flatMap(CIE.init)
    else { return nil }
    return FDE(entry, cie: cie)
  }
}

// MARK: - Sources

/// Reads CFI from a module's files.
private struct FileCFI: CFISource {
  let image: ELFImage?
  let debugFrame: DebugSection?

  func cfiBytes(of section: CFISection, at position: UInt64, count: Int) -> [UInt8]? {
    switch section {
    case .ehFrame: image?.elf.loadedBytes(at: Address(position), count: count)
    case .debugFrame: debugFrame?.bytes(at: position, count: count)
    }
  }
}

/// Reads CFI from the dump's memory, for the vDSO or a module whose file is missing or from another build.
///
/// Positions are addresses of the process. The memory has no `.debug_frame`, because this section is never loaded.
private struct CapturedCFI: CFISource {
  let memory: MemorySnapshot

  func cfiBytes(of section: CFISection, at position: UInt64, count: Int) -> [UInt8]? {
    guard section == .ehFrame else { return nil }
    return memory.bytes(at: Address(position), count: count).map(Array.init)
  }
}

extension CFITable {
  /// Uses `.eh_frame` of the file with code, and `.debug_frame` of that file or of its separate debug file.
  convenience init(of files: SymbolFiles, _ limit: WorkLimit = WorkLimit()) {
    let debugFrame = files.all.lazy.compactMap { DebugSection(".debug_frame", of: $0, limit) }.first
    self.init(of: files.image, debugFrame, limit)
  }

  /// Uses the sections of a single file, which has both code and debug information.
  convenience init(of image: ELFImage, _ limit: WorkLimit) {
    self.init(of: image, DebugSection(".debug_frame", of: image, limit), limit)
  }

  private convenience init(
    of image: ELFImage?, _ debugFrame: DebugSection?, _ limit: WorkLimit
  ) {
    var places = Places()
    if let image {
      let header = image.elf.segments.first { $0.type == ELFFile.exceptionFrameHeader }
      places.header = header.map { AddressRange(start: $0.address, byteCount: $0.fileSize) }
      places.headerSegmentEnd = header.flatMap { header in
        image.elf.segments.first {
          $0.type == ELFFile.load && $0.memoryRange.contains(header.address)
        }?.memoryRange.end
      }
      let section = image.elf.section(named: ".eh_frame")
      places.ehFrame = section.map { AddressRange(start: $0.address, byteCount: $0.size) }
    }
    places.debugFrame = debugFrame.map { AddressRange(start: 0, byteCount: $0.size) }
    self.init(places, from: FileCFI(image: image, debugFrame: debugFrame), limit)
  }

  /// Reads the tables of a module in the dump's memory; nil unless everything that is needed was captured.
  convenience init?(
    captured module: ModuleSnapshot, in memory: MemorySnapshot, _ limit: WorkLimit = WorkLimit()
  ) {
    guard let header = module.unwindTable(in: memory) else { return nil }
    self.init(
      // `.eh_frame` ends at its terminator, or where the captured memory ends.
      Places(header: header, headerSegmentEnd: .highest),
      from: CapturedCFI(memory: memory), limit)
    guard !self.header.entries.isEmpty else { return nil }
  }
}

extension ModuleSnapshot {
  /// The range of `.eh_frame_hdr`, from the dump, otherwise from the image's headers in memory: other programs' dumps
  /// may have all memory, but no program headers.
  ///
  /// Source: System V ABI, chapters 4 and 5 (`Elf64_Ehdr`, `Elf64_Phdr`).
  fileprivate func unwindTable(in memory: MemorySnapshot) -> AddressRange? {
    if let unwindTable { return unwindTable }
    guard segments.isEmpty, let start = memory.bytes(at: address, count: 64),
      start.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]),
      let offset = start.littleEndian(at: 32, as: UInt64.self),
      let count = start.littleEndian(at: 56, as: UInt16.self),
      let table = memory.bytes(at: address &+ offset, count: Int(count) * 56)
    else { return nil }
    var first: UInt64?
    var header: (address: UInt64, size: UInt64)?
    for entry in stride(from: 0, to: table.count, by: 56) {
      guard let type = table.littleEndian(at: entry, as: UInt32.self),
        let place = table.littleEndian(at: entry + 16, as: UInt64.self),
        let size = table.littleEndian(at: entry + 40, as: UInt64.self)
      else { return nil }
      if type == ELFFile.load, first == nil { first = place & ~0xFFF }
      if type == ELFFile.exceptionFrameHeader { header = (place, size) }
    }
    guard let first, let header else { return nil }
    return AddressRange(start: address &+ header.address &- first, byteCount: header.size)
  }
}

extension ModuleSnapshot {
  /// The ELF header and the program headers in memory, if only they lead to the unwind table.
  fileprivate func headerRanges(in memory: MemorySnapshot) -> [AddressRange] {
    guard unwindTable == nil, let offset = memory.word(at: address &+ 32),
      let counts = memory.word(at: address &+ 56)
    else { return [] }
    return [
      AddressRange(start: address, byteCount: 64),
      AddressRange(start: address &+ offset, byteCount: (counts & 0xFFFF) &* 56),
    ]
  }
}

extension ProcessSnapshot {
  /// The captured unwind tables of modules, and the headers that lead to them.
  ///
  /// The handler captures such tables for modules that have no file (but not for the vDSO), or whose files were deleted
  /// or replaced. The tables are read-only contents of a file and not data of the process, and stack walks need them to
  /// find the same frames. Memory next to the tables, such as constants, is not part of the result.
  var capturedTables: [AddressRange] {
    modules.flatMap { module -> [AddressRange] in
      guard let table = module.unwindTable(in: memory),
        let mapping = mapping(containing: table.start), !mapping.protection.contains(.write),
        let tables = CFITable(captured: module, in: memory),
        let entries = tables.header.frames.map(tables.entries), !entries.isEmpty
      else { return [] }
      return module.headerRanges(in: memory)
        + [AddressRange(start: table.start, byteCount: tables.header.byteCount), entries]
    }
  }
}

extension CFITable {
  /// The consecutive entries of `.eh_frame` from an address on, up to a terminator or the first bytes that are neither a
  /// CIE nor an FDE of one of these CIEs.
  fileprivate func entries(from start: Address) -> AddressRange {
    var known: Set<UInt64> = []
    var place = start.value
    while limit.spend(8), let entry = CFIEntry(of: .ehFrame, at: place, from: source) {
      switch entry.kind {
      case .cie:
        guard CIE(entry) != nil else { return AddressRange(from: start, to: Address(place)) }
        known.insert(place)
      case .fde(let cie):
        guard known.contains(cie) else { return AddressRange(from: start, to: Address(place)) }
      }
      place = entry.next
    }
    return AddressRange(from: start, to: Address(place))
  }
}
