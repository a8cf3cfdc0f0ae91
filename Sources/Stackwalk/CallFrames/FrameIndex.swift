/// The functions of a frame section that has no table of its own, found by reading through it.
struct FrameIndex {
  private struct Entry {
    var start: UInt64
    var end: UInt64
    var position: UInt64
  }

  /// A section that claims more is cut.
  private static let maximumCount = 4 << 20

  /// Sorted by start.
  private var entries: [Entry] = []

  /// Reads every entry from a position to the end of the section or its terminator.
  init(
    of section: FrameSection, in range: Range<UInt64>, from source: some FrameSource
  ) {
    var encodings: [UInt64: PointerEncoding?] = [:]
    var position = range.lowerBound
    while entries.count < Self.maximumCount,
      let entry = FrameEntry(of: section, at: position, limit: range.upperBound, from: source)
    {
      position = entry.next
      guard case .description(let common) = entry.kind else { continue }
      if encodings[common] == nil {
        guard encodings.count < 1 << 16 else { break }
        let information = FrameEntry(
          of: section, at: common, limit: range.upperBound, from: source
        ).flatMap(CommonInformation.init)
        encodings[common] = .some(information?.pointerEncoding)
      }
      guard case .some(.some(let encoding)) = encodings[common],
        let covered = FrameDescription.range(entry, encoding: encoding)?.range, !covered.isEmpty
      else { continue }
      entries.append(
        Entry(start: covered.lowerBound, end: covered.upperBound, position: entry.origin))
    }
    entries.sort { $0.start < $1.start }
  }

  /// The position of the entry that describes an address.
  func position(of address: UInt64) -> UInt64? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].start <= address { low = middle + 1 } else { high = middle }
    }
    guard low > 0, address < entries[low - 1].end else { return nil }
    return entries[low - 1].position
  }
}
