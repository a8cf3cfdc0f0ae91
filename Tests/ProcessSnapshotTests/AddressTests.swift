import ProcessSnapshot
import Testing

/// Addresses and ranges at both ends of the address space.
@Suite struct AddressTests {
  /// For any two of these addresses, every operation returns a result without a trap.
  static let extremes: [UInt64] = [
    0, 1, 7, 8, 4095, 4096, 1 << 31, 1 << 47, (1 << 63) - 1, 1 << 63, .max - 4096, .max - 8,
    .max - 1, .max,
  ]

  @Test func saysWhatHappensAtTheEnds() {
    #expect(Address.highest &+ 1 == 0)
    #expect(Address(0) &- 1 == .highest)
    #expect(Address.highest.adding(1) == nil && Address(0).subtracting(1) == nil)
    #expect(Address(8).adding(8) == 16 && Address(16).subtracting(16) == 0)
    #expect(Address.highest.clampedAdding(9) == .highest && Address(3).clampedSubtracting(9) == 0)
    #expect(Address(5).distance(above: 3) == 2 && Address(3).distance(above: 5) == nil)
    #expect(Address(0).wrappedDistance(above: .highest) == 1)
    #expect(Address(0x1FFF).alignedDown(to: 0x1000) == 0x1000)
    #expect(Address(0x1001).alignedUp(to: 0x1000) == 0x2000)
    #expect(Address(0x1000).alignedUp(to: 0x1000) == 0x1000)
    #expect(Address.highest.alignedUp(to: 8) == nil)
    #expect("\(Address(0xABC))" == "0xabc")
  }

  @Test func aRangeMayEndWithTheAddressSpace() {
    let top = AddressRange(start: 0xFFFF_FFFF_FFFF_F000, byteCount: 0x1000)
    #expect(top.byteCount == 0x1000 && top.last == .highest)
    #expect(top.end == nil && top.clampedEnd == .highest)
    #expect(top.contains(.highest) && top.offset(of: .highest) == 0xFFF)
    #expect(!top.ends(atOrBelow: .highest))
    // A byte count that exceeds the address space is clamped.
    #expect(AddressRange(start: 0xFFFF_FFFF_FFFF_F000, byteCount: .max) == top)
    let whole = AddressRange(start: 0, byteCount: .max)
    #expect(whole.contains(.highest &- 1) && !whole.contains(.highest))
  }

  @Test func rangesAreComparedByWhatIsInThem() {
    let low = AddressRange(from: 0x1000, to: 0x3000)
    let high = AddressRange(from: 0x2000, to: 0x4000)
    #expect(low.intersection(high) == AddressRange(from: 0x2000, to: 0x3000))
    #expect(low.overlaps(high) && !low.contains(high))
    #expect(low.contains(AddressRange(from: 0x1000, to: 0x3000)))
    #expect(low.gap(before: AddressRange(from: 0x3000, to: 0x3001)) == 0)
    #expect(low.gap(before: AddressRange(from: 0x3010, to: 0x3011)) == 0x10)
    #expect(low.gap(before: high) == nil)
    #expect(AddressRange(from: 0x3000, to: 0x1000).isEmpty)
    #expect(AddressRange(from: 5, through: 4) == nil)
    #expect(AddressRange(from: 5, through: 5)?.byteCount == 1)
  }

  @Test func nothingTraps() {
    let addresses = Self.extremes.map { Address($0) }
    var ranges: [AddressRange] = []
    for start in addresses {
      for size in Self.extremes {
        #expect(start &+ size &- size == start)
        #expect(start.adding(size).map { $0 >= start } ?? true)
        #expect(start.clampedAdding(size) >= start && start.clampedSubtracting(size) <= start)
        ranges.append(AddressRange(start: start, byteCount: size))
        ranges.append(AddressRange(from: start, to: Address(size)))
        if let range = AddressRange(from: start, through: Address(size)) { ranges.append(range) }
      }
    }
    for range in ranges {
      for address in addresses {
        #expect(range.contains(address) == (range.offset(of: address) != nil))
        #expect(
          range.contains(address)
            == (range.last.map { range.start <= address && address <= $0 } ?? false))
        #expect(range.isEmpty || range.ends(atOrBelow: address) == ((range.last ?? 0) < address))
      }
    }
    for (index, left) in ranges.enumerated() where index % 7 == 0 {
      for right in ranges {
        let both = left.intersection(right)
        #expect(
          (both != nil) == left.overlaps(right) && left.overlaps(right) == right.overlaps(left))
        #expect(both.map { left.contains($0) && right.contains($0) } ?? true)
        if left.gap(before: right) != nil { #expect(both == nil) }
      }
    }
  }
}

/// Memory up to the last byte of the address space.
@Suite struct MemoryAtTheEndTests {
  @Test func regionsAtTheVeryEndAreRead() {
    let bytes = (0..<16).map { UInt8($0) }
    let start = Address.highest &- 15
    let memory = MemorySnapshot(joining: [MemoryRegion(address: start, bytes: bytes)])
    #expect(memory.bytes(at: start, count: 16).map(Array.init) == bytes)
    #expect(memory.bytes(at: .highest, count: 1) == [15])
    #expect(memory.bytes(at: .highest, count: 2) == nil)
    #expect(memory.word(at: .highest &- 7) == 0x0F0E_0D0C_0B0A_0908)
    #expect(memory.word(at: .highest &- 6) == nil)
    #expect(memory.region(containing: 0) == nil)
  }

  @Test func regionsAreJoinedThere() {
    let regions = [
      MemoryRegion(address: .highest &- 7, bytes: Array(repeating: 2, count: 8)),
      MemoryRegion(address: .highest &- 15, bytes: Array(repeating: 1, count: 12)),
      // This region extends past the end, and is left out.
      MemoryRegion(address: .highest &- 3, bytes: Array(repeating: 3, count: 8)),
      MemoryRegion(address: 0, bytes: [9]),
    ]
    let memory = MemorySnapshot(joining: regions)
    #expect(memory.regions.map(\.address) == [0, .highest &- 15])
    #expect(memory.regions[1].bytes == [UInt8](repeating: 1, count: 12) + [2, 2, 2, 2])
  }

  @Test func chunksOfAStackAreOnePieceInLinearTime() {
    let chunks = (0..<4096).map { index in
      MemoryRegion(address: Address(UInt64(index) * 4096), bytes: Array(repeating: 1, count: 4096))
    }
    #expect(MemorySnapshot(joining: chunks).regions.map(\.bytes.count) == [16 << 20])
  }
}

@Suite struct PartitioningIndexTests {
  @Test func findsWhereTheSecondPartBegins() {
    for count in 0..<20 {
      let values = Array(0..<count)
      for limit in 0...count {
        #expect(values.partitioningIndex { $0 >= limit } == limit)
        #expect(values[(count / 2)...].partitioningIndex { $0 >= limit } == max(limit, count / 2))
      }
    }
  }
}
