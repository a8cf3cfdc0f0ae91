package import IntermediateDump

/// Bytes of the crashed process at the address they had there.
public struct MemoryRegion: Sendable, Equatable {
  public var address: Address
  public var bytes: [UInt8]

  public init(address: Address, bytes: [UInt8]) {
    self.address = address
    self.bytes = bytes
  }

  /// The addresses of its bytes; fewer than it has, if it is not one of a snapshot's memory and
  /// reaches past the end of the address space.
  public var range: AddressRange { AddressRange(start: address, byteCount: UInt64(bytes.count)) }

  /// One past the last address; the last one itself, where that is the last there is.
  public var end: Address { range.clampedEnd }

  /// The part that lies in a range; nil if there is none.
  func part(within range: AddressRange) -> MemoryRegion? {
    guard let shared = self.range.intersection(range) else { return nil }
    if shared == self.range { return self }
    guard let start = self.range.offset(of: shared.start).flatMap({ Int(exactly: $0) }),
      let count = Int(exactly: shared.byteCount)
    else { return nil }
    return MemoryRegion(
      address: shared.start, bytes: Array(bytes.dropFirst(start).prefix(count)))
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
      !region.bytes.isEmpty && region.range.byteCount == UInt64(region.bytes.count)
    }
    let sorted = valid.sorted { left, right in
      (left.element.address, left.offset) < (right.element.address, right.offset)
    }
    for (_, region) in sorted {
      // Held in no other variable, the bytes are appended to in place.
      guard let known = self.regions.last?.range, known.gap(before: region.range) ?? 0 == 0 else {
        self.regions.append(region)
        continue
      }
      // The bytes that the one before has already: none, if the two touch.
      let shared = known.end.map { $0.wrappedDistance(above: region.address) } ?? .max
      if let count = Int(exactly: shared), count < region.bytes.count {
        self.regions[self.regions.count - 1].bytes += region.bytes[count...]
      }
    }
  }

  /// The region that holds an address.
  public func region(containing address: Address) -> MemoryRegion? {
    let index = firstIndex(startingAbove: address) - 1
    guard index >= 0, regions[index].range.contains(address) else { return nil }
    return regions[index]
  }

  /// The first region that starts above an address.
  package func region(above address: Address) -> MemoryRegion? {
    let index = firstIndex(startingAbove: address)
    return index < regions.count ? regions[index] : nil
  }

  private func firstIndex(startingAbove address: Address) -> Int {
    regions.partitioningIndex { $0.address > address }
  }

  /// `count` bytes at an address; nil unless all of them were captured.
  public func bytes(at address: Address, count: Int) -> ArraySlice<UInt8>? {
    guard let rest = bytes(from: address), count >= 0, count <= rest.count else { return nil }
    return rest.prefix(count)
  }

  /// The bytes from an address up to the end of its region; nil where nothing was captured.
  func bytes(from address: Address) -> ArraySlice<UInt8>? {
    guard let region = region(containing: address),
      let start = region.range.offset(of: address).flatMap({ Int(exactly: $0) })
    else { return nil }
    return region.bytes[start...]
  }

  /// A little-endian 64-bit word; nil unless it was captured whole.
  public func word(at address: Address) -> UInt64? {
    bytes(at: address, count: 8)?.littleEndian(at: 0, as: UInt64.self)
  }
}

/// The memory that maps of a dump stand for: their own bytes, or those of a minidump that carries the
/// dump.
package struct DumpMemory {
  /// Nil for a dump that has its memory itself.
  private let memory: MemorySnapshot?
  /// Bytes of it that may still be given away: hostile maps name the same ones again and again.
  private var bytesLeft: Int

  package init(_ memory: MemorySnapshot?) {
    self.memory = memory
    bytesLeft = memory?.regions.reduce(0) { $0 + $1.bytes.count } ?? 0
  }

  /// The bytes of a `memoryRegion` map; nil where there are none.
  package mutating func region(_ map: IntermediateDumpMap) -> MemoryRegion? {
    guard let address: Address = map[.regionAddress] else { return nil }
    if let bytes: [UInt8] = map[.regionData] {
      return bytes.isEmpty ? nil : MemoryRegion(address: address, bytes: bytes)
    }
    guard let whole = memory?.region(containing: address),
      let size = map.unsigned(.regionSize).flatMap({ Int(exactly: $0) }), size > 0,
      size <= bytesLeft, let bytes = memory?.bytes(at: address, count: size)
    else { return nil }
    bytesLeft -= size
    // The same array, where it is all of it.
    return size == whole.bytes.count ? whole : MemoryRegion(address: address, bytes: Array(bytes))
  }
}
