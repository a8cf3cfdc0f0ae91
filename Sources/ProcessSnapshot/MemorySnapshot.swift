/// Bytes of the crashed process at the address they had there.
public struct MemoryRegion: Sendable, Equatable {
  public var address: UInt64
  public var bytes: [UInt8]

  public init(address: UInt64, bytes: [UInt8]) {
    self.address = address
    self.bytes = bytes
  }

  /// One past the last address; regions that would wrap around are never stored.
  public var end: UInt64 { address + UInt64(bytes.count) }

  /// What of it lies in a range; nil for nothing, or where it reaches past the end of the address
  /// space.
  func part(within range: Range<UInt64>) -> MemoryRegion? {
    let (end, overflow) = address.addingReportingOverflow(UInt64(bytes.count))
    let (start, stop) = (max(address, range.lowerBound), min(end, range.upperBound))
    guard !overflow, start < stop else { return nil }
    if start == address, stop == end { return self }
    return MemoryRegion(
      address: start, bytes: Array(bytes[Int(start - address)..<Int(stop - address)]))
  }
}

/// All memory that a dump holds: sorted, without overlaps, touching regions joined.
public struct MemorySnapshot: Sendable, Equatable {
  public private(set) var regions: [MemoryRegion] = []

  public init() {}

  /// Joins any regions into one image; where two overlap, the one that starts lower counts.
  ///
  /// Linear but for the sort. A region that is empty or reaches past the end of the address space
  /// is left out.
  public init(joining regions: [MemoryRegion]) {
    let valid = regions.enumerated().filter { _, region in
      !region.bytes.isEmpty
        && !region.address.addingReportingOverflow(UInt64(region.bytes.count)).overflow
    }
    let sorted = valid.sorted { left, right in
      (left.element.address, left.offset) < (right.element.address, right.offset)
    }
    for (_, region) in sorted {
      guard let last = self.regions.last, region.address <= last.end else {
        self.regions.append(region)
        continue
      }
      if region.end > last.end {
        self.regions[self.regions.count - 1].bytes +=
          region.bytes[Int(last.end - region.address)...]
      }
    }
  }

  /// The region that holds an address.
  public func region(containing address: UInt64) -> MemoryRegion? {
    var low = 0
    var high = regions.count
    while low < high {
      let middle = (low + high) / 2
      if regions[middle].address <= address { low = middle + 1 } else { high = middle }
    }
    guard low > 0, address < regions[low - 1].end else { return nil }
    return regions[low - 1]
  }

  /// `count` bytes at an address; nil unless all of them were captured.
  public func bytes(at address: UInt64, count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0, let region = region(containing: address) else { return nil }
    let start = Int(address - region.address)
    guard count <= region.bytes.count - start else { return nil }
    return region.bytes[start..<start + count]
  }

  /// A little-endian 64-bit word; nil unless it was captured whole.
  public func word(at address: UInt64) -> UInt64? {
    bytes(at: address, count: 8)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
