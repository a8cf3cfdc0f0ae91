internal import IntermediateDump

/// A set of addresses, stored as sorted ranges that neither overlap nor touch.
package struct RangeSet: Sendable {
  package private(set) var ranges: [AddressRange] = []

  package init(_ all: [AddressRange]) {
    for range in all.sorted(by: { $0.start < $1.start }) where !range.isEmpty {
      if let last = ranges.last, range.start <= last.clampedEnd {
        let end = max(last.last ?? 0, range.last ?? 0)
        if let joined = AddressRange(from: last.start, through: end) {
          ranges[ranges.count - 1] = joined
        }
      } else {
        ranges.append(range)
      }
    }
  }

  /// The index of the range that contains an address; nil if none does.
  func index(of address: Address) -> Int? {
    let index = ranges.partitioningIndex { $0.start > address } - 1
    return index >= 0 && ranges[index].contains(address) ? index : nil
  }

  package func contains(_ address: Address) -> Bool { index(of: address) != nil }

  /// The parts of `range` that are not in this set.
  package func gaps(in range: AddressRange) -> [AddressRange] {
    guard let last = range.last else { return [] }
    var gaps: [AddressRange] = []
    var start: Address? = range.start
    var index = ranges.partitioningIndex { !$0.ends(atOrBelow: range.start) }
    while let place = start, place <= last, index < ranges.count, ranges[index].start <= last {
      gaps.append(AddressRange(from: place, to: ranges[index].start))
      start = ranges[index].end
      index += 1
    }
    if let place = start, place <= last, let rest = AddressRange(from: place, through: last) {
      gaps.append(rest)
    }
    return gaps.filter { !$0.isEmpty }
  }
}

extension ProcessSnapshot {
  /// All captured parts of stacks, including parts that follow a gap in the captured memory.
  package var stackMemory: RangeSet {
    RangeSet(
      threads.flatMap(\.stack).map(\.range)
        + threads.compactMap(\.stackRange).flatMap { memory.regions(in: $0).map(\.range) })
  }
}
