/// Finds what covers an address; ranges may overlap and lie in one another.
struct AddressMap<Payload> {
  struct Entry {
    var low: UInt64
    var high: UInt64
    var payload: Payload
  }

  private let entries: [Entry]
  /// For each entry the highest end of it and all before it: where to give up looking back.
  private let highestEnds: [UInt64]

  init(_ unsorted: [Entry]) {
    // Of two that start alike the shorter comes last, and is met first.
    let entries = unsorted.sorted { ($0.low, $1.high) < ($1.low, $0.high) }
    var highest: UInt64 = 0
    highestEnds = entries.map { entry in
      highest = max(highest, entry.high)
      return highest
    }
    self.entries = entries
  }

  var count: Int { entries.count }

  /// Bytes of memory it takes, about.
  var cost: Int { entries.count * (MemoryLayout<Entry>.stride + 8) }

  /// The innermost entry around an address: the one that starts last.
  func innermost(containing address: UInt64) -> Entry? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].low <= address { low = middle + 1 } else { high = middle }
    }
    var index = low - 1
    while index >= 0, highestEnds[index] > address {
      if entries[index].high > address { return entries[index] }
      index -= 1
    }
    return nil
  }
}
