package import IntermediateDump

/// Consecutive bytes of the crashed process's memory, with the address that they had in the process.
public struct MemoryRegion: Sendable, Equatable {
  public var address: Address
  package fileprivate(set) var contents: CapturedBytes

  public init(address: Address, bytes: [UInt8]) {
    self.init(address: address, contents: CapturedBytes(bytes))
  }

  package init(address: Address, contents: CapturedBytes) {
    self.address = address
    self.contents = contents
  }

  public var count: Int { contents.count }

  /// A copy of all bytes; empty if the dump's file cannot be read.
  public var bytes: [UInt8] { Array(contents.slice(0..<count) ?? []) }

  /// The addresses of the region's bytes.
  ///
  /// A region that is not part of a `MemorySnapshot` may reach past the end of the address space. For such a region,
  /// `range` has fewer addresses than the region has bytes.
  public var range: AddressRange { AddressRange(start: address, byteCount: UInt64(count)) }

  /// The address after the region; for a region that reaches the end of the address space, the last address.
  public var end: Address { range.clampedEnd }

  /// The part of the region within a range; nil if there is none.
  func part(within range: AddressRange) -> MemoryRegion? {
    guard let shared = self.range.intersection(range) else { return nil }
    if shared == self.range { return self }
    guard let start = self.range.offset(of: shared.start).flatMap({ Int(exactly: $0) }),
      let count = Int(exactly: shared.byteCount)
    else { return nil }
    return MemoryRegion(
      address: shared.start, contents: contents.part(start..<start + count))
  }

  /// A copy of the region in which the filter has replaced words.
  func sanitized(by filter: WordFilter) -> MemoryRegion {
    MemoryRegion(address: address, contents: contents.sanitized(at: address, by: filter))
  }

  public static func == (left: MemoryRegion, right: MemoryRegion) -> Bool {
    left.address == right.address && left.count == right.count && left.bytes == right.bytes
  }
}

/// All memory that a dump contains, in sorted regions that neither overlap nor touch.
public struct MemorySnapshot: Sendable, Equatable {
  public private(set) var regions: [MemoryRegion] = []

  public init() {}

  /// Joins regions; if two regions overlap, the bytes of the region with the lower start are used.
  ///
  /// Joining takes linear time, except for the sort. A region that is empty or reaches past the end of the address
  /// space is left out.
  public init(joining regions: [MemoryRegion]) {
    let valid = regions.enumerated().filter { _, region in
      region.count > 0 && region.range.byteCount == UInt64(region.count)
    }
    let sorted = valid.sorted { left, right in
      (left.element.address, left.offset) < (right.element.address, right.offset)
    }
    for (_, region) in sorted {
      guard let known = self.regions.last?.range, known.gap(before: region.range) ?? 0 == 0 else {
        self.regions.append(region)
        continue
      }
      // The number of bytes of `region` that the previous region already contains; 0 if the two touch.
      let shared = known.end.map { $0.wrappedDistance(above: region.address) } ?? .max
      if let count = Int(exactly: shared), count < region.count {
        self.regions[self.regions.count - 1].contents.append(region.contents, from: count)
      }
    }
  }

  /// A copy without the bytes in a range.
  package func excluding(_ range: AddressRange) -> MemorySnapshot {
    let excluded = RangeSet([range])
    return MemorySnapshot(
      joining: regions.flatMap { region in
        excluded.gaps(in: region.range).compactMap(region.part(within:))
      })
  }

  /// The region that contains an address; nil if the address was not captured.
  public func region(containing address: Address) -> MemoryRegion? {
    regions.element(containing: address, by: { $0.range })
  }

  /// The first region that starts above an address; nil if there is none.
  package func region(above address: Address) -> MemoryRegion? {
    regions[regions.partitioningIndex { $0.address > address }...].first
  }

  /// The `count` bytes at an address; nil unless all of them were captured.
  public func bytes(at address: Address, count: Int) -> ArraySlice<UInt8>? {
    guard count >= 0 else { return nil }
    return place(of: address).flatMap { region, start in
      count <= region.count - start ? region.contents.slice(start..<start + count) : nil
    }
  }

  /// The NUL-terminated text at an address; nil if it was not captured, or if no NUL is within `limit` bytes.
  package func text(at address: Address, limit: Int) -> String? {
    guard let (region, start) = place(of: address),
      let rest = region.contents.slice(start..<start + min(limit, region.count - start)),
      let end = rest.firstIndex(of: 0)
    else { return nil }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  private func place(of address: Address) -> (region: MemoryRegion, start: Int)? {
    guard let region = region(containing: address),
      let start = region.range.offset(of: address).flatMap({ Int(exactly: $0) })
    else { return nil }
    return (region, start)
  }

  /// The little-endian 64-bit word at an address; nil unless all of its bytes were captured.
  public func word(at address: Address) -> UInt64? {
    bytes(at: address, count: 8)?.littleEndian(at: 0, as: UInt64.self)
  }
}

/// Finds the memory that the `memoryRegion` maps of a dump refer to, either in the dump or in the minidump that
/// contains the dump.
package struct DumpMemory {
  /// The memory in the minidump; nil for a dump that contains the bytes of memory itself.
  private let memory: MemorySnapshot?
  /// The number of bytes of the minidump's memory that further calls of `region` may return.
  ///
  /// Without this limit, an attacker's dump could refer to the same bytes repeatedly, so that its regions would be
  /// larger in total than the minidump.
  private var bytesLeft: Int

  package init(_ memory: MemorySnapshot?) {
    self.memory = memory
    bytesLeft = memory?.regions.reduce(0) { $0 + $1.count } ?? 0
  }

  /// The region that a `memoryRegion` map describes; nil if its address or a part of its bytes is missing, or if it has
  /// more than `bytesLeft` bytes in the minidump.
  package mutating func region(_ map: IntermediateDumpMap) -> MemoryRegion? {
    guard let address: Address = map[.regionAddress] else { return nil }
    if let range = map.range(.regionData) {
      let contents = CapturedBytes(of: map.bytes, range)
      return range.isEmpty ? nil : MemoryRegion(address: address, contents: contents)
    }
    guard let size = map.unsigned(.regionSize).flatMap({ Int(exactly: $0) }), size > 0,
      size <= bytesLeft,
      let part = memory?.region(containing: address)?
        .part(within: AddressRange(start: address, byteCount: UInt64(size))), part.count == size
    else { return nil }
    bytesLeft -= size
    return part
  }
}
