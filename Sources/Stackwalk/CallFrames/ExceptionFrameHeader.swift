internal import ProcessSnapshot

/// `.eh_frame_hdr`: where functions start, sorted, and where their frame descriptions lie.
///
/// Every image that can be unwound has it, stripped ones too. Source: Linux Standard Base Core,
/// 10.6.2 (Exception Frame Header).
struct ExceptionFrameHeader {
  struct Entry {
    /// Both in the file's own numbering.
    var start: Address
    var description: UInt64
  }

  /// More functions than any image has.
  private static let maximumCount: UInt64 = 8 << 20

  /// Where `.eh_frame` begins.
  private(set) var frameSection: UInt64?
  /// Sorted by start; empty for a header without a table.
  private(set) var entries: [Entry] = []

  /// An image without a header.
  init() {}

  /// Reads the header and its table.
  ///
  /// - Parameters:
  ///   - address: where the header is loaded.
  ///   - size: its bytes, from the program header.
  init(at address: UInt64, size: UInt64, from source: some FrameSource) {
    // Version, three encodings, then at most two pointers of eight bytes.
    guard
      let head = source.frameBytes(
        of: .exceptionFrame, at: address, count: Int(clamping: min(size, 20))),
      head.count >= 4, head[0] == 1
    else { return }
    var cursor = DWARFCursor(head)
    let bases = PointerEncoding.Bases(section: address, data: address, function: nil)
    let tableEncoding = PointerEncoding(rawValue: head[3])
    guard cursor.skip(4) else { return }
    frameSection = cursor.readPointer(PointerEncoding(rawValue: head[1]), bases: bases)
    guard frameSection != nil,
      let count = cursor.readPointer(PointerEncoding(rawValue: head[2]), bases: bases),
      !tableEncoding.isIndirect, let width = tableEncoding.width,
      count > 0, count <= Self.maximumCount,
      count <= (size &- UInt64(cursor.position)) / UInt64(2 * width),
      let table = source.frameBytes(
        of: .exceptionFrame, at: address &+ UInt64(cursor.position),
        count: Int(clamping: count) * 2 * width)
    else { return }
    read(
      DWARFCursor(table), count: Int(clamping: count), tableEncoding,
      PointerEncoding.Bases(
        section: address &+ UInt64(cursor.position), data: address, function: nil))
  }

  private mutating func read(
    _ table: DWARFCursor, count: Int, _ encoding: PointerEncoding, _ bases: PointerEncoding.Bases
  ) {
    var table = table
    entries.reserveCapacity(count)
    var isSorted = true
    while entries.count < count, let start = table.readPointer(encoding, bases: bases),
      let description = table.readPointer(encoding, bases: bases)
    {
      if let last = entries.last, last.start.value > start { isSorted = false }
      entries.append(Entry(start: Address(start), description: description))
    }
    if !isSorted { entries.sort { $0.start < $1.start } }
  }

  /// The last entry that starts at or below an address.
  func entry(at address: Address) -> Entry? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].start <= address { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? entries[low - 1] : nil
  }
}
