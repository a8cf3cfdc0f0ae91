extension MinidumpEncoder {
  /// MINIDUMP_MEMORY_LIST: all captured memory, stacks included.
  ///
  /// Source: Microsoft minidumpapiset.h.
  mutating func encodeMemoryList() -> MinidumpLocation {
    buffer.align(to: 4)
    let start = buffer.count
    buffer.append(UInt32(truncatingIfNeeded: plan.pieces.count))
    for piece in plan.pieces {
      buffer.append(piece.address)
      buffer.append(UInt32(truncatingIfNeeded: piece.count))
      buffer.appendMemoryReference(piece.offset)
    }
    return MinidumpLocation(
      size: UInt32(truncatingIfNeeded: buffer.count - start), rva: UInt32(truncatingIfNeeded: start)
    )
  }
}
