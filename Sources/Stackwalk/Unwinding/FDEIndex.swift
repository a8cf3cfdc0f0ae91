internal import ProcessSnapshot

/// `.eh_frame_hdr`: a table of function starts and their FDEs, which stripped images have too.
///
/// Source: Linux Standard Base Core, 10.6.2 (Exception Frame Header).
struct EHFrameHeader {
  struct Entry {
    /// Both in the file's own numbering.
    var start: Address
    var fde: UInt64
  }

  /// A table that claims more entries is not read.
  private static let maximumCount: UInt64 = 8 << 20

  /// Sorted by start; empty for a header without a table.
  private(set) var entries: [Entry] = []

  /// Stands for an image without a header.
  init() {}

  /// Reads the header and its table.
  ///
  /// - Parameters:
  ///   - address: of the header, in the file's own numbering.
  ///   - size: its bytes, from the program header.
  init(
    at address: UInt64, size: UInt64, from source: some CFISource,
    _ limit: WorkLimit = WorkLimit()
  ) {
    // Version, three encodings, then at most two pointers of eight bytes.
    guard
      let head = source.cfiBytes(
        of: .ehFrame, at: address, count: Int(clamping: min(size, 20))),
      head.count >= 4, head[0] == 1
    else { return }
    var cursor = DWARFCursor(head)
    let tableEncoding = PointerEncoding(rawValue: head[3])
    guard cursor.skip(4) else { return }
    // The first pointer is that of `.eh_frame`.
    func pointer(_ encoding: UInt8) -> UInt64? {
      cursor.readPointer(PointerEncoding(rawValue: encoding), section: address, data: address)
    }
    guard pointer(head[1]) != nil, let count = pointer(head[2]),
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

  /// Finds the last entry that starts at or below an address.
  func entry(at address: Address) -> Entry? {
    let index = entries.partitioningIndex { $0.start > address } - 1
    return index >= 0 ? entries[index] : nil
  }
}

/// An index of the FDEs of a section without a table, made by reading the whole section.
struct FDEIndex {
  /// The positions of FDEs.
  private let map: AddressMap<UInt64>

  /// Reads every entry of a section up to its end or terminator.
  init(
    of section: CFISection, in range: AddressRange, from source: some CFISource,
    _ limit: WorkLimit = WorkLimit()
  ) {
    var found: [AddressMap<UInt64>.Entry] = []
    var encodings: [UInt64: PointerEncoding?] = [:]
    var position = range.start.value
    // Each entry is read by a system call of its own.
    while limit.spend(32),
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

  /// The positions of all FDEs, by the addresses that they cover.
  var positions: [UInt64] { map.entries.map(\.payload) }

  /// Finds the position of the FDE that covers an address.
  func position(of address: Address) -> UInt64? { map.innermost(containing: address)?.payload }
}
