internal import ProcessSnapshot

/// Addresses that functions were written for, 16 to 32 bytes a function.
///
/// Ranges are added in sorted batches; lists of similar size are merged to keep their number small.
struct ClaimedRanges {
  /// Each sorted and without overlaps; no two overlap.
  private var runs: [[AddressRange]] = []

  /// True if a range overlaps one of them.
  func overlaps(_ range: AddressRange) -> Bool {
    runs.contains { run in
      let index = run.partitioningIndex { $0.clampedEnd > range.start }
      return index < run.count && run[index].start < range.clampedEnd
    }
  }

  func contains(_ address: Address) -> Bool {
    overlaps(AddressRange(start: address, byteCount: 1))
  }

  /// Adds a sorted batch that does not overlap the existing ranges.
  mutating func add(_ batch: [AddressRange]) {
    var batch = batch
    while let last = runs.last, last.count <= 2 * batch.count {
      // Linear in both, which are sorted.
      batch = (runs.removeLast() + batch).sorted { $0.start < $1.start }
    }
    if !batch.isEmpty { runs.append(batch) }
  }
}
