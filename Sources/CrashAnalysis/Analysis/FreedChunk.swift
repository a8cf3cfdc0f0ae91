internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Recognizes memory that the C library's allocator has freed and keeps for a later allocation.
enum FreedChunk {
  /// True if the memory at an address looks like a freed chunk.
  ///
  /// In a freed chunk on a tcache or fastbin list, the first word is the address of the next freed chunk, or null if
  /// there is none. glibc combines this word by XOR with the chunk's own address, shifted right by 12 bits. The
  /// combined word rarely points into a mapping. By contrast, the first word of an object is the address of its
  /// metadata, which is in a mapping, so this word distinguishes the two.
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

extension FaultSite {
  /// The object whose references the Swift runtime was counting at the fault, if the object's memory has been freed.
  ///
  /// The runtime's functions keep the address of the object's second word, the reference count, in a register. So a
  /// register with an address 8 bytes above the start of freed memory shows the object; other registers rarely contain
  /// such an address.
  var freedObject: Address? {
    let names = trace.frames.prefix(3).compactMap(\.linkageName)
    guard names.contains(where: ReferenceCounting.isFunction), let context = exception.context
    else {
      return nil
    }
    return context.generalRegisters.lazy
      .filter { $0.value > 8 && $0.value != IntermediateDumpFormat.replacedWord }
      .map { Address($0.value &- 8) }
      .first { FreedChunk.begins(at: $0, in: snapshot) }
  }

  /// The freed memory whose first word the program used as an address at the fault; nil if there is none.
  ///
  /// The first word of an object is the address of its metadata. Code that calls a method of the object, or asks for
  /// its type, reads this word, and then memory at a constant distance from that address.
  ///
  /// - Returns: the address of the freed memory, and the name of the register that contains this address; the name is
  ///   nil if only the stack contains the address.
  var usedFreedMemory: (register: String?, Address)? {
    guard let fault = exception.address, let context = exception.context else { return nil }
    func isUsed(_ address: Address) -> Bool {
      // Metadata has fields up to 64 bytes below its address. Except for classes with hundreds of methods, its fields
      // end less than 4 KiB above this address. So a fault in this range may be an access to a field.
      guard let word = snapshot.memory.word(at: address),
        fault.value &- word &+ 64 < 64 + 4096
      else { return false }
      return FreedChunk.begins(at: address, in: snapshot)
    }
    if let found = context.generalRegisters.first(where: { isUsed(Address($0.value)) }) {
      return (found.name, Address(found.value))
    }
    return NotedWord.stackWords(in: snapshot, context).lazy
      .map { Address($0.word) }.first(where: isUsed).map { (nil, $0) }
  }
}
