internal import IntermediateDump

/// The words of a stack that the handler prints in a log, instead of the stack's memory.
///
/// The groups of words are numbered. After a gap in the numbers, which shows that a piece of the log is missing, no
/// group is used, because a stack walk could skip the calls in the gap.
struct StackWords {
  private(set) var regions: [MemoryRegion] = []

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
        let size = Int(truncatingIfNeeded: head & 31) * 8
        offset += 4
        guard size <= data.count - offset else { return }
        let first = data.startIndex + offset
        let address = start &+ (head >> 5 &* 8)
        regions.append(MemoryRegion(address: address, bytes: Array(data[first..<first + size])))
        offset += size
        count &+= 1
      }
    }
  }
}
