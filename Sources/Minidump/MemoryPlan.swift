internal import ProcessSnapshot

/// The parts of the captured memory that go into the minidump, in the order of the file.
///
/// The memory list and the stack descriptors of the threads refer to the same bytes of the file. Breakpad's reader
/// drops the memory list if regions overlap or if there are more than 4,096 regions. Breakpad's reader does not read a
/// region of more than 64 MiB, so larger regions are cut into adjacent pieces. If there are too many regions or bytes,
/// the crashing thread's stack has priority, then the other threads' stacks, then the other memory by address.
struct MemoryPlan {
  /// A part of one region of the snapshot, which becomes one region of the minidump.
  struct Piece {
    let region: Int
    /// The offset of the piece in its region, in bytes.
    let start: Int
    let count: Int
    let address: Address
    /// The offset of the piece in the captured memory of the file, in bytes; a multiple of 16.
    var offset: UInt64 = 0

    var range: AddressRange { AddressRange(start: address, byteCount: UInt64(count)) }
    /// The number of bytes that the piece takes in the file, including the padding after it.
    var sizeInFile: UInt64 { UInt64(count + 15) & ~15 }
  }

  /// The pieces, sorted by address.
  let pieces: [Piece]
  /// The number of pieces that are left out because of the limits on regions and bytes.
  let unlistedCount: Int
  /// The number of bytes that captured memory takes in the file, including padding.
  let size: UInt64

  /// The maximum size of captured memory in one file.
  ///
  /// File offsets have 32 bits, so a file has at most 4 GiB, of which 1 GiB is left for everything else.
  static let maximumSize: UInt64 = 3 << 30

  init(of snapshot: ProcessSnapshot, threads: [ThreadSnapshot]) {
    var all: [Piece] = []
    for (index, region) in snapshot.memory.regions.enumerated() {
      var start = 0
      while start < region.count {
        let count = min(region.count - start, MinidumpFormat.maximumRegionSize)
        let address = region.address &+ UInt64(start)
        all.append(Piece(region: index, start: start, count: count, address: address))
        start += count
      }
    }
    var chosen = Self.chosen(from: all, threads: threads)
    var offset: UInt64 = 0
    for index in chosen.indices {
      chosen[index].offset = offset
      offset &+= chosen[index].sizeInFile
    }
    pieces = chosen
    unlistedCount = all.count - chosen.count
    size = offset
  }

  /// Chooses all pieces or, if they exceed the limits of a file, the most important ones.
  private static func chosen(from all: [Piece], threads: [ThreadSnapshot]) -> [Piece] {
    let total = all.reduce(UInt64(0)) { $0 &+ $1.sizeInFile }
    guard all.count > MinidumpFormat.maximumMemoryRegions || total > maximumSize else { return all }
    let stacks = threads.compactMap { $0.stackAtPointer.flatMap { index(of: $0.address, in: all) } }
    var selected: Set<Int> = []
    var left = maximumSize
    for index in stacks + all.indices where selected.count < MinidumpFormat.maximumMemoryRegions {
      let size = all[index].sizeInFile
      guard size <= left, selected.insert(index).inserted else { continue }
      left &-= size
    }
    return selected.sorted().map { all[$0] }
  }

  /// Finds the byte at an address; nil if no piece contains the address.
  ///
  /// - Returns: the offset of the byte from the start of the captured memory in the file, and how many of the `count`
  ///   bytes from there on are in the same piece.
  func location(of address: Address, count: Int) -> (offset: UInt64, count: Int)? {
    guard let index = Self.index(of: address, in: pieces),
      let start = pieces[index].range.offset(of: address)
    else { return nil }
    let left = Int(clamping: pieces[index].range.byteCount &- start)
    return (pieces[index].offset &+ start, min(count, left))
  }

  private static func index(of address: Address, in pieces: [Piece]) -> Int? {
    let index = pieces.partitioningIndex { $0.address > address } - 1
    return index >= 0 && pieces[index].range.contains(address) ? index : nil
  }
}

extension ThreadSnapshot {
  /// The region of the stack that contains the stack pointer, or else the next region above the stack pointer.
  ///
  /// If there is no such region, or if the stack pointer is not known, the result is the first region of the stack.
  ///
  /// After a stack overflow, the stack pointer is in the guard page, below all memory that could be captured, and the
  /// next region above it contains the innermost frames.
  var stackAtPointer: MemoryRegion? {
    guard let pointer = context?.stackPointer ?? stackPointer else { return stack.first }
    return stack.first { !$0.range.ends(atOrBelow: pointer) } ?? stack.first
  }
}
