internal import IntermediateDump

/// The parts of Swift objects that a sanitized report keeps, so that the report can name the objects' types.
///
/// These parts are the metadata, and the first two words of each object to which the crashed thread's registers or the
/// top of its stack point. The other words of an object are its contents, which are removed, except for the pointer to
/// the type in an error.
///
/// Source: swift include/swift/ABI/Metadata.h, include/swift/ABI/MetadataKind.def,
/// stdlib/public/SwiftShims/swift/shims/RefCount.h.
struct KeptObjects {
  /// The first words of each object outside the memory that the report keeps anyway.
  private(set) var heads: [MemoryRegion] = []
  /// The memory ranges of the objects' metadata; the caller must still sanitize their contents.
  private(set) var metadata: [AddressRange] = []
  /// The addresses of the objects of which parts are kept.
  private(set) var addresses: Set<UInt64> = []

  private let memory: MemorySnapshot

  /// The number of bytes at the top of the stack that are searched for pointers to objects.
  private static let stackSize: UInt64 = 4096
  /// The bits of a reference count that is kept: at most 64 strong and 63 unowned references, the mark that the object
  /// is being deinitialized, and bit 0, which is set in every native Swift object.
  ///
  /// Larger counts are left out, because memory that only looks like an object may have a secret in this place.
  private static let smallCounts: UInt64 = 0x7F_0000_007F

  /// - Parameters:
  ///   - stacks: memory that is kept anyway; `heads` contains no objects in this memory.
  init(in snapshot: ProcessSnapshot, outside stacks: RangeSet) {
    memory = snapshot.memory
    let thread = snapshot.exception?.threadID
    guard
      let context = snapshot.exception?.context
        ?? snapshot.threads.first(where: { $0.id == thread })?.context
    else { return }
    for register in context.generalRegisters { add(register.value, outside: stacks) }
    let stack = context.stackPointer.alignedDown(to: 8)
    for offset in stride(from: 0, to: Self.stackSize, by: 8) {
      if let word = memory.word(at: stack &+ offset) { add(word, outside: stacks) }
    }
  }

  /// Adds the object at an address, if there is one.
  private mutating func add(_ value: UInt64, outside stacks: RangeSet) {
    let address = Address(value)
    guard value & 7 == 0, !addresses.contains(value), let type = memory.word(at: address),
      let count = memory.word(at: address &+ 8), Self.countsReferences(count)
    else { return }
    let place = Address(type)
    var head = [type, count & ~Self.smallCounts == 0 ? count : WordFilter.replacement]
    switch memory.word(at: place) {
    case 0 where isClass(place): addClass(place)
    // The kind 0x400 stands for a closure's captured variables, 0x500 for a box, and 0x502 for a task.
    case 0x400, 0x502: metadata.append(AddressRange(start: place, byteCount: 24))
    case 0x500:
      metadata.append(AddressRange(start: place, byteCount: 24))
      addType(at: place &+ 16)
    case 0x501:
      metadata.append(AddressRange(start: place, byteCount: 8))
      // The type is the third word of an error.
      if addType(at: address &+ 16), let word = memory.word(at: address &+ 16) { head.append(word) }
    default: return
    }
    addresses.insert(value)
    let range = AddressRange(start: address, byteCount: 8 &* UInt64(head.count))
    // The report keeps the memory in `stacks` anyway. If only a part of the words is in `stacks`, they are probably not
    // an object, so they are left out too.
    guard stacks.gaps(in: range) == [range] else { return }
    var bytes: [UInt8] = []
    for word in head { bytes.append(littleEndian: word) }
    heads.append(MemoryRegion(address: address, bytes: bytes))
  }

  /// Adds the metadata of a class up to its descriptor, and the types that may be its generic arguments.
  private mutating func addClass(_ place: Address) {
    metadata.append(AddressRange(start: place, byteCount: 48))
    // Pointers to the metadata point to `place`, which is not the first byte of the metadata. So `end` is the size of
    // the metadata without the bytes before `place`. The words up to byte 256 are examined if the handler has replaced
    // the sizes, or if `end` would be above 256.
    let sizes = memory.word(at: place &+ 32) ?? 0
    let end =
      sizes == WordFilter.replacement ? 256 : min((sizes & 0xFFFF_FFFF) &- (sizes >> 32), 256)
    for offset in stride(from: UInt64(56), to: end, by: 8) where addType(at: place &+ offset) {
      metadata.append(AddressRange(start: place &+ offset, byteCount: 8))
    }
  }

  /// Adds the type metadata to which the word at an address points; returns false if there is none.
  @discardableResult
  private mutating func addType(at place: Address) -> Bool {
    guard let word = memory.word(at: place), word & 7 == 0,
      let kind = memory.word(at: Address(word))
    else { return false }
    switch kind {
    case 0 where isClass(Address(word)):
      metadata.append(AddressRange(start: Address(word), byteCount: 48))
    case 0x200...0x306: metadata.append(AddressRange(start: Address(word), byteCount: 32))
    default: return false
    }
    return true
  }

  /// True if metadata whose first word is 0 can be that of a class: its two sizes and its descriptor are plausible.
  ///
  /// `WordFilter.replacement` is accepted as the sizes, because the handler writes it if `HandlerOptions.privacy` is
  /// not `full`.
  private func isClass(_ place: Address) -> Bool {
    guard let sizes = memory.word(at: place &+ 32), let descriptor = memory.word(at: place &+ 40)
    else { return false }
    let size = sizes & 0xFFFF_FFFF
    return (sizes == WordFilter.replacement || size >= 48 && sizes >> 32 < size)
      && descriptor >= 0x1_0000 && descriptor & 3 == 0
  }

  /// True if the word can be an object's reference count, or has replaced a removed reference count.
  ///
  /// Such a word can be the count of an immortal object, the address of a side table, or a count of at most 2^24 strong
  /// and fewer than 2^20 unowned references.
  private static func countsReferences(_ word: UInt64) -> Bool {
    // The address of a side table has at most 48 bits, and the word contains the address without its three lowest bits.
    word & 0xFFFF_FFFF == 0xFFFF_FFFF || word >> 45 == 0b11 << 17 || word == WordFilter.replacement
      || (word & 0xFE00_0000_FFE0_0001 == 1 && word & 0xFFFF_FFFF > 1)
  }
}
