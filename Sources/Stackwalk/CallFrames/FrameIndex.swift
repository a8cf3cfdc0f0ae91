internal import ProcessSnapshot

/// The functions of a frame section that has no table of its own, found by reading through it.
struct FrameIndex {
  private struct Entry {
    var range: AddressRange
    var position: UInt64
  }

  /// A section that claims more is cut.
  private static let maximumCount = 4 << 20

  /// Sorted by start.
  private var entries: [Entry] = []

  /// Reads every entry from a position to the end of the section or its terminator.
  init(
    of section: FrameSection, in range: AddressRange, from source: some FrameSource
  ) {
    var encodings: [UInt64: PointerEncoding?] = [:]
    var position = range.start.value
    while entries.count < Self.maximumCount,
      let entry = FrameEntry(of: section, at: position, limit: range.clampedEnd.value, from: source)
    {
      position = entry.next
      guard case .description(let common) = entry.kind else { continue }
      if encodings[common] == nil {
        guard encodings.count < 1 << 16 else { break }
        let information = FrameEntry(
          of: section, at: common, limit: range.clampedEnd.value, from: source
        ).flatMap(CommonInformation.init)
        encodings[common] = .some(information?.pointerEncoding)
      }
      guard case .some(.some(let encoding)) = encodings[common],
        let covered = FrameDescription.range(entry, encoding: encoding)?.range, !covered.isEmpty
      else { continue }
      entries.append(Entry(range: covered, position: entry.origin))
    }
    entries.sort { $0.range.start < $1.range.start }
  }

  /// The position of the entry that describes an address.
  func position(of address: Address) -> UInt64? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].range.start <= address { low = middle + 1 } else { high = middle }
    }
    guard low > 0, entries[low - 1].range.contains(address) else { return nil }
    return entries[low - 1].position
  }
}
