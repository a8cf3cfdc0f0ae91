internal import IntermediateDump

/// Makes modules from the images that the handler found.
///
/// Sizes and segments come from the program headers.
struct ModuleDerivation {
  /// The mappings sorted by address, without overlaps; empty if they are missing from a truncated dump.
  private let mappings: [MemoryMapping]
  /// For each of `mappings`, the range from its start to the end of the contiguous mappings of the same file.
  private let runs: [AddressRange]
  private let pageSize: UInt64

  init(mappings: [MemoryMapping], pageSize: UInt64?) {
    self.mappings = mappings
    var runs = mappings.map(\.range)
    for index in mappings.indices.dropLast().reversed()
    where runs[index].end == runs[index + 1].start
      && mappings[index].path == mappings[index + 1].path
    {
      runs[index] = AddressRange(
        start: runs[index].start, byteCount: runs[index].byteCount &+ runs[index + 1].byteCount)
    }
    self.runs = runs
    // An implausible page size, for example one that is not a power of two, comes from a damaged dump and is ignored.
    let size = pageSize ?? 4096
    self.pageSize = size >= 4096 && size <= 1 << 20 && size & (size &- 1) == 0 ? size : 4096
  }

  private struct Candidate {
    let address: Address
    var size: UInt64
    /// The path as in `/proc/self/maps`, except that a line feed is not escaped.
    let path: String
    let buildID: [UInt8]
    let source: ModuleSnapshot.Source?
    /// What the program headers describe; nil if there are none.
    let headers: ProgramHeaders?
  }

  /// Returns the modules sorted by address, without overlaps.
  func modules(of maps: [IntermediateDumpMap]) -> [ModuleSnapshot] {
    var candidates = maps.compactMap(candidate(of:)).enumerated().sorted { left, right in
      (left.element.address, left.offset) < (right.element.address, right.offset)
    }.map(\.element)
    var modules: [ModuleSnapshot] = []
    for index in candidates.indices {
      let address = candidates[index].address
      guard index == 0 || candidates[index - 1].address != address else { continue }
      // Images do not overlap. If an image seems to overlap the next one, the image was mapped only as a file, or its
      // headers are wrong. Such an image is cut off where the next one begins.
      if let next = candidates[index...].first(where: { $0.address > address }),
        let distance = next.address.distance(above: address)
      {
        candidates[index].size = min(candidates[index].size, distance)
      }
      modules.append(module(of: candidates[index]))
    }
    return modules
  }

  private func candidate(of map: IntermediateDumpMap) -> Candidate? {
    guard let address: Address = map[.moduleAddress] else { return nil }
    let headers = map.data(.moduleProgramHeaders).map {
      ProgramHeaders($0, loadedAt: address, pageSize: pageSize)
    }
    let path =
      map.data(.modulePath).map { MemoryMapping.path(unescaping: $0.prefix { $0 != 0 }) }
      ?? mappings.element(containing: address, by: { $0.range })?.path ?? ""
    let size =
      map.unsigned(.moduleSize) ?? headers?.loadedSize ?? mappedSize(from: address, path: path)
    // Readers of minidumps require that at least one address follows the module.
    let room = Address.highest.wrappedDistance(above: address)
    return Candidate(
      address: address, size: min(max(size, 1), room), path: path,
      buildID: map[.moduleBuildID] ?? [], source: map[.moduleSource], headers: headers)
  }

  private func module(of candidate: Candidate) -> ModuleSnapshot {
    let (path, isDeleted) =
      candidate.path == ModuleSnapshot.kernelImagePath
      ? (ModuleSnapshot.kernelImageName, false) : ModuleSnapshot.path(withoutMark: candidate.path)
    var module = ModuleSnapshot(
      address: candidate.address, size: candidate.size, path: path, isDeleted: isDeleted,
      buildID: candidate.buildID)
    module.source = candidate.source
    if let headers = candidate.headers {
      (module.segments, module.unwindTable) = (headers.segments, headers.unwindTable)
    }
    return module
  }

  /// The number of bytes from an address to the end of the contiguous mappings with the given path; one page if there
  /// are no such mappings.
  private func mappedSize(from address: Address, path: String) -> UInt64 {
    let index = firstMapping(endingAbove: address)
    guard index < mappings.count, mappings[index].path == path,
      let offset = runs[index].offset(of: address)
    else { return pageSize }
    return runs[index].byteCount &- offset
  }

  private func firstMapping(endingAbove address: Address) -> Int {
    mappings.partitioningIndex { !$0.range.ends(atOrBelow: address) }
  }
}

extension ModuleSnapshot {
  /// Writes this module as a `module` map.
  ///
  /// `ModuleDerivation` makes the same module from this map, if the dump has the same mappings.
  func write(to writer: inout IntermediateDumpWriter) {
    writer.startMap(.module)
    writer.write(.moduleAddress, address)
    writer.write(.moduleSize, size)
    let name = path == Self.kernelImageName ? Self.kernelImagePath : path
    let escaped = name.replacing("\n", with: "\\012")
    writer.write(.modulePath, isDeleted ? escaped + Self.deletedMark : escaped)
    if !buildID.isEmpty { writer.write(.moduleBuildID, buildID) }
    writer.write(.moduleSource, source)
    var headers = segments.flatMap {
      ProgramHeaders.bytes(
        ProgramHeaders.load, $0.range, $0.isExecutable ? 5 : 4, loadedAt: address)
    }
    if let unwindTable {
      headers += ProgramHeaders.bytes(
        ProgramHeaders.exceptionFrameHeader, unwindTable, 4, loadedAt: address)
    }
    if !headers.isEmpty { writer.write(.moduleProgramHeaders, headers) }
    writer.end()
  }

  /// The name that the maps file uses for the vDSO, which is an image that the kernel provides.
  ///
  /// `kernelImageName` is the name that Breakpad, Crashpad and symbol servers use for the vDSO.
  static var kernelImagePath: String { "[vdso]" }
  static var kernelImageName: String { "linux-gate.so" }

  /// The suffix that the kernel adds to the path of a deleted file.
  ///
  /// Source: proc_pid_maps(5).
  static var deletedMark: String { " (deleted)" }

  /// Removes the suffix of a deleted file from a path in the maps file; returns the path and whether it had the suffix.
  package static func path(withoutMark path: String) -> (path: String, isDeleted: Bool) {
    guard path.hasSuffix(deletedMark) else { return (path, false) }
    return (String(path.dropLast(deletedMark.count)), true)
  }
}

/// The size and the segments of an image, read from an array of `Elf64_Phdr`.
///
/// Source: System V gABI, "Program Header".
private struct ProgramHeaders {
  /// The maximum number of loaded segments that are read; images have about four.
  private static let maximumCount = 128
  /// PT_LOAD and PT_GNU_EH_FRAME.
  static let load: UInt32 = 1
  static let exceptionFrameHeader: UInt32 = 0x6474_E550

  /// The number of bytes from the page of the lowest loaded address to the end of the highest loaded segment; nil if
  /// no segment is loaded.
  var loadedSize: UInt64?
  private(set) var segments: [ModuleSnapshot.Segment] = []
  private(set) var unwindTable: AddressRange?

  init(_ bytes: ArraySlice<UInt8>, loadedAt start: Address, pageSize: UInt64) {
    var lowest = UInt64.max
    var highest: UInt64 = 0
    var loaded: [(first: UInt64, end: UInt64, isExecutable: Bool)] = []
    var table: (address: UInt64, size: UInt64)?
    var offset = 0
    while let type = bytes.littleEndian(at: offset, width: 4),
      let flags = bytes.littleEndian(at: offset + 4, width: 4),
      let address = bytes.littleEndian(at: offset + 16, width: 8),
      let size = bytes.littleEndian(at: offset + 40, width: 8)
    {
      offset += 56
      let end = address.addingReportingOverflow(size)
      if type == UInt64(Self.exceptionFrameHeader) { table = (address, size) }
      guard type == UInt64(Self.load), !end.overflow, loaded.count < Self.maximumCount else {
        continue
      }
      lowest = min(lowest, address & (0 &- pageSize))
      highest = max(highest, end.partialValue)
      loaded.append((address & (0 &- pageSize), end.partialValue, flags & 1 != 0))
    }
    guard highest > lowest else { return }
    loadedSize = highest &- lowest
    unwindTable = table.map {
      AddressRange(start: start &+ ($0.address &- lowest), byteCount: $0.size)
    }
    segments = loaded.sorted { $0.first < $1.first }.map { segment in
      let end = Address(segment.end).alignedUp(to: pageSize) ?? .highest
      return ModuleSnapshot.Segment(
        range: AddressRange(
          start: start &+ (segment.first &- lowest), byteCount: end.value &- segment.first),
        isExecutable: segment.isExecutable)
    }
  }

  /// Encodes a program header of an image whose lowest address is 0; reading it gives the same range.
  static func bytes(
    _ type: UInt32, _ range: AddressRange, _ rights: UInt32, loadedAt start: Address
  ) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(littleEndian: type)
    bytes.append(littleEndian: rights)
    bytes.append(littleEndian: UInt64(0))
    bytes.append(littleEndian: range.start.wrappedDistance(above: start))
    bytes.append(littleEndian: UInt64(0))
    bytes.append(littleEndian: range.byteCount)
    bytes.append(littleEndian: range.byteCount)
    bytes.append(littleEndian: UInt64(0))
    return bytes
  }
}
