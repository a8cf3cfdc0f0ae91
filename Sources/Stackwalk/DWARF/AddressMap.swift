internal import ProcessSnapshot

/// Finds what covers an address; ranges may overlap and lie in one another.
struct AddressMap<Payload> {
  struct Entry {
    var range: AddressRange
    var payload: Payload
  }

  private let entries: [Entry]
  /// For each entry the last address of it and all before it: where to give up looking back.
  private let furthest: [Address]

  init(_ unsorted: [Entry]) {
    // Of two that start alike the shorter comes last, and is met first.
    let entries = unsorted.filter { !$0.range.isEmpty }.sorted {
      ($0.range.start, $1.range.byteCount) < ($1.range.start, $0.range.byteCount)
    }
    var highest: Address = 0
    furthest = entries.map { entry in
      highest = max(highest, entry.range.last ?? 0)
      return highest
    }
    self.entries = entries
  }

  var count: Int { entries.count }

  /// Bytes of memory it takes, about.
  var cost: Int { entries.count * (MemoryLayout<Entry>.stride + 8) }

  /// The innermost entry around an address: the one that starts last.
  func innermost(containing address: Address) -> Entry? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].range.start <= address { low = middle + 1 } else { high = middle }
    }
    var index = low - 1
    while index >= 0, furthest[index] >= address {
      if entries[index].range.contains(address) { return entries[index] }
      index -= 1
    }
    return nil
  }
}
