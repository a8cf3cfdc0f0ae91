internal import IntermediateDump

/// The words of a stack that the handler prints in a log, instead of the stack's memory.
///
/// The groups of words are numbered. After a gap in the numbers, which shows that a piece of the log is missing, no
/// group is used, because a stack walk could skip the calls in the gap.
struct StackWords {
  /// The maximum number of frame records of all recursions, to limit the memory that damaged numbers can take.
  private static let repetitionLimit = 1 << 16

  private(set) var regions: [MemoryRegion] = []
  /// The frame records: their addresses, the saved frame pointers and the return addresses.
  private var records: [(address: Address, next: UInt64, target: UInt64)] = []
  private var repetitions = 0

  /// - Parameters:
  ///   - map: the joined maps of the thread.
  ///   - stackPointer: the thread's stack pointer, from which the places of the words count.
  init(in map: IntermediateDumpMap, from stackPointer: Address) {
    let start = stackPointer.alignedDown(to: 8)
    var count: UInt64 = 0
    for entry in map.entries where entry.key == IntermediateDumpKey.stackWords.rawValue {
      guard case .property(let range) = entry.value, let data = map.bytes.slice(range),
        data.littleEndian(at: 0, width: 4) == count
      else { return }
      var offset = 4
      while let head = data.littleEndian(at: offset, width: 4) {
        offset += 4
        count &+= 1
        let size = Int(truncatingIfNeeded: head & 3)
        guard size > 0 else {
          guard
            repeatRecords(
              Int(truncatingIfNeeded: head >> 4), period: Int(truncatingIfNeeded: head >> 2 & 3) + 1
            )
          else { return }
          continue
        }
        let words = (0..<size).compactMap { data.littleEndian(at: offset + $0 * 8, width: 8) }
        guard words.count == size else { return }
        offset += size * 8
        add(words, at: start &+ (head >> 2 &* 8))
      }
    }
  }

  private mutating func add(_ words: [UInt64], at address: Address) {
    var bytes: [UInt8] = []
    for word in words { bytes.append(littleEndian: word) }
    regions.append(MemoryRegion(address: address, bytes: bytes))
    if words.count == 2 { records.append((address, words[0], words[1])) }
  }

  /// Adds the records that continue a recursion; returns false if there is no recursion, or if there are too many.
  private mutating func repeatRecords(_ count: Int, period: Int) -> Bool {
    repetitions += count
    guard records.count > period, repetitions <= Self.repetitionLimit else { return false }
    let stride = records[records.count - 1].address
      .wrappedDistance(above: records[records.count - 1 - period].address)
    for _ in 0..<count {
      let record = records[records.count - period]
      add([record.next &+ stride, record.target], at: record.address &+ stride)
    }
    return true
  }
}
