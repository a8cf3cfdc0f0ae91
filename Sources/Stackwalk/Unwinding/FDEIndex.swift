internal import ProcessSnapshot

/// The contents of `.eh_frame_hdr`, a table with the start and the FDE of each function.
///
/// Stripped images have this table too, so their stacks can be walked.
///
/// Source: Linux Standard Base Core, 10.6.2 (Exception Frame Header).
struct EHFrameHeader {
  struct Entry {
    /// The start of the function; like `fde`, a link-time address or an address of the process (see `CFITable`).
    var start: Address
    var fde: UInt64
  }

  /// The maximum number of entries; a table that claims to have more is not read.
  private static let maximumCount: UInt64 = 8 << 20

  /// The entries, sorted by start; empty for a header without a table.
  private(set) var entries: [Entry] = []
  /// The start of `.eh_frame`; nil if the header does not have it.
  private(set) var frames: Address?
  /// The number of bytes of the header with its entries; 0 for a header without a table.
  private(set) var byteCount: UInt64 = 0

  /// Makes an empty table, for an image without `.eh_frame_hdr`.
  init() {}

  /// Reads the header `.eh_frame_hdr` and its table.
  ///
  /// - Parameters:
  ///   - address: the address of the header.
  ///   - size: the size of the header in bytes, from the program header.
  init(
    at address: UInt64, size: UInt64, from source: some CFISource,
    _ limit: WorkLimit = WorkLimit()
  ) {
    // The header starts with a version, three encodings, and at most two pointers of eight bytes.
    guard
      let head = source.cfiBytes(
        of: .ehFrame, at: address, count: Int(clamping: min(size, 20))),
      head.count >= 4, head[0] == 1
    else { return }
    var cursor = DWARFCursor(head)
    let tableEncoding = PointerEncoding(rawValue: head[3])
    guard cursor.skip(4) else { return }
    // Two encoded values follow: the address of `.eh_frame`, and the number of entries in the table.
    func pointer(_ encoding: UInt8) -> UInt64? {
      cursor.readPointer(PointerEncoding(rawValue: encoding), section: address, data: address)
    }
    frames = pointer(head[1]).map { Address($0) }
    guard frames != nil, let count = pointer(head[2]),
      !tableEncoding.isIndirect, let width = tableEncoding.width,
      count > 0, count <= Self.maximumCount,
      count <= (size &- UInt64(cursor.position)) / UInt64(2 * width),
      limit.spend(Int(clamping: count) * 4),
      limit.take(Int(clamping: count) * (MemoryLayout<Entry>.stride + 2 * width)),
      let table = source.cfiBytes(
        of: .ehFrame, at: address &+ UInt64(cursor.position),
        count: Int(clamping: count) * 2 * width)
    else { return }
    let section = address &+ UInt64(cursor.position)
    byteCount = UInt64(cursor.position) &+ UInt64(table.count)
    cursor = DWARFCursor(table)
    entries.reserveCapacity(Int(clamping: count))
    var isSorted = true
    while entries.count < count,
      let start = cursor.readPointer(tableEncoding, section: section, data: address),
      let fde = cursor.readPointer(tableEncoding, section: section, data: address)
    {
      if let last = entries.last, last.start.value > start { isSorted = false }
      entries.append(Entry(start: Address(start), fde: fde))
    }
    if !isSorted { entries.sort { $0.start < $1.start } }
  }

  /// The entries that start at or below an address.
  func entries(upTo address: Address) -> ArraySlice<Entry> {
    entries[..<entries.partitioningIndex { $0.start > address }]
  }
}

/// Reads a section from front to back through a buffer, so that the source is not read once for each entry.
private final class BufferedCFI<Source: CFISource>: CFISource {
  private static var size: Int { 1 << 16 }

  private let source: Source
  private var start: UInt64 = 0
  private var bytes: [UInt8] = []

  init(_ source: Source) { self.source = source }

  func cfiBytes(of section: CFISection, at position: UInt64, count: Int) -> [UInt8]? {
    if let found = buffered(position, count) { return found }
    // Near the end of the section, fewer bytes than the buffer's size are left; then only the requested bytes are read.
    guard let read = source.cfiBytes(of: section, at: position, count: max(count, Self.size)) else {
      return source.cfiBytes(of: section, at: position, count: count)
    }
    (start, bytes) = (position, read)
    return buffered(position, count)
  }

  private func buffered(_ position: UInt64, _ count: Int) -> [UInt8]? {
    guard position >= start, position &- start <= UInt64(bytes.count) else { return nil }
    let offset = Int(clamping: position &- start)
    guard count >= 0, count <= bytes.count - offset else { return nil }
    return Array(bytes[offset..<offset + count])
  }
}

/// An index of the FDEs of a section, made by reading the whole section.
///
/// For `.eh_frame`, this index is needed if there is no table in `.eh_frame_hdr`, or if that table lacks some FDEs. For
/// `.debug_frame`, this index is always needed, because no section contains a table for it.
struct FDEIndex {
  /// The positions of FDEs, by the addresses that they cover.
  private let map: AddressMap<UInt64>

  /// Reads the entries of a section up to its end, its terminator or a damaged entry, or until a limit is reached.
  init(
    of section: CFISection, in range: AddressRange, from source: some CFISource,
    _ limit: WorkLimit = WorkLimit()
  ) {
    var found: [AddressMap<UInt64>.Entry] = []
    var encodings: [UInt64: PointerEncoding?] = [:]
    var position = range.start.value
    let source = BufferedCFI(source)
    while limit.spend(8),
      let entry = CFIEntry(of: section, at: position, limit: range.clampedEnd.value, from: source)
    {
      position = entry.next
      guard case .fde(let cie) = entry.kind else { continue }
      if encodings[cie] == nil {
        guard encodings.count < 1 << 16 else { break }
        let entry = CFIEntry(of: section, at: cie, limit: range.clampedEnd.value, from: source)
        encodings[cie] = .some(entry.flatMap(CIE.init)?.pointerEncoding)
      }
      guard case .some(.some(let encoding)) = encodings[cie],
        let covered = FDE.range(entry, encoding: encoding)?.range, !covered.isEmpty
      else { continue }
      guard limit.take(AddressMap<UInt64>.entryCost) else { break }
      found.append(.init(range: covered, payload: entry.origin))
    }
    map = AddressMap(found)
  }

  /// The positions of all FDEs, sorted by the addresses that they cover.
  var positions: [UInt64] { map.entries.map(\.payload) }

  /// Finds the position of the FDE that covers an address.
  func position(of address: Address) -> UInt64? { map.innermost(containing: address)?.payload }
}
