internal import ProcessSnapshot

/// The address ranges of the functions whose records have been written.
///
/// The ranges take 16 to 32 bytes of memory for each function.
///
/// Ranges are added in sorted batches. Lists of similar size are merged, so that there are only a few lists.
struct ClaimedRanges {
  /// Lists of ranges.
  ///
  /// Each list is sorted, and no two ranges overlap, even if they are in different lists.
  private var runs: [[AddressRange]] = []

  /// True if `range` overlaps any of the claimed ranges.
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
      // The merge takes linear time, because both lists are sorted.
      batch = (runs.removeLast() + batch).sorted { $0.start < $1.start }
    }
    if !batch.isEmpty { runs.append(batch) }
  }
}
