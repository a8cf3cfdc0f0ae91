internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Memory that the C library's allocator has freed and keeps for the next allocation.
enum FreedChunk {
  /// True if what begins at an address looks like such memory.
  ///
  /// Its first word has the address of another freed chunk, or null, combined with the high bits of its own
  /// address. Metadata of an object is in a mapping; such a word is in none.
  ///
  /// Source: glibc malloc/malloc.c, PROTECT_PTR.
  static func begins(at address: Address, in snapshot: ProcessSnapshot) -> Bool {
    guard address.value & 15 == 0, let word = snapshot.memory.word(at: address), word > 0,
      let heap = snapshot.mapping(containing: address), heap.protection.contains(.write),
      snapshot.mapping(containing: Address(word)) == nil
    else { return false }
    let next = Address(word ^ (address.value >> 12))
    return next.value == 0 || next.value & 15 == 0 && heap.range.contains(next)
  }
}

extension MemoryFault {
  /// The object whose references the Swift runtime counted at the fault, if its memory is freed.
  ///
  /// The runtime's functions have the address of the count, the second word of an object, in a register. Little
  /// else has that address.
  var freedObject: Address? {
    let names = trace.frames.prefix(3).compactMap(\.linkageName)
    guard names.contains(where: Self.countsReferences), let context = exception.context else {
      return nil
    }
    return context.generalRegisters.lazy
      .filter { $0.value > 8 && $0.value != ProcessSnapshot.replacedWord }
      .map { Address($0.value &- 8) }
      .first { FreedChunk.begins(at: $0, in: snapshot) }
  }
}
