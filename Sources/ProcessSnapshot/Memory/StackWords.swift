internal import IntermediateDump

/// The words of a stack that the handler prints in a log, instead of the stack's memory.
struct StackWords {
  private(set) var regions: [MemoryRegion] = []

  /// - Parameters:
  ///   - map: the joined maps of the thread.
  ///   - stackPointer: the thread's stack pointer, from which the places of the words count.
  init(in map: IntermediateDumpMap, from stackPointer: Address) {
    let start = stackPointer.alignedDown(to: 8)
    for entry in map.entries where entry.key == IntermediateDumpKey.stackWords.rawValue {
      guard case .property(let range) = entry.value, let data = map.bytes.slice(range) else {
        return
      }
      var offset = 0
      while let head = data.littleEndian(at: offset, width: 4) {
        let size = Int(truncatingIfNeeded: head & 3) * 8
        let words = data.dropFirst(offset + 4).prefix(size)
        guard size > 0, words.count == size else { return }
        regions.append(MemoryRegion(address: start &+ (head >> 2 &* 8), bytes: Array(words)))
        offset += 4 + size
      }
    }
  }
}
