internal import IntermediateDump

/// The parts of Swift objects that a sanitized report keeps, so that the report can name the objects' types.
///
/// These parts are the metadata, and the first two words of each object to which the crashed thread's registers or the
/// top of its stack point. The other words of an object are its contents, which are removed, except for the pointer to
/// the type in an error.
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
      let count = memory.word(at: address &+ 8),
      count == IntermediateDumpFormat.replacedWord || ReferenceCountWord(count) != nil,
      let kind = memory.word(at: Address(type)).flatMap(MetadataKind.init)
    else { return }
    let place = Address(type)
    let isSmall = count & ~ReferenceCountWord.smallCounts == 0
    var head = [type, isSmall ? count : IntermediateDumpFormat.replacedWord]
    switch kind {
    case .class where isClass(place): addClass(place)
    case .closure, .task: add(kind, at: place)
    case .box:
      add(kind, at: place)
      addType(at: place &+ 16)
    case .error:
      add(kind, at: place)
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

  /// Adds the first bytes of metadata.
  private mutating func add(_ kind: MetadataKind, at place: Address) {
    metadata.append(AddressRange(start: place, byteCount: UInt64(kind.keptSize)))
  }

  /// Adds the metadata of a class up to its descriptor, and the types that may be its generic arguments.
  private mutating func addClass(_ place: Address) {
    add(.class, at: place)
    // The handler may have replaced the sizes.
    let sizes = memory.word(at: place &+ UInt64(ClassMetadata.sizesOffset)) ?? 0
    let end =
      sizes == IntermediateDumpFormat.replacedWord
      ? ClassMetadata.searchedSize : ClassMetadata.end(sizes: sizes)
    for offset in stride(from: ClassMetadata.argumentsOffset, to: end, by: 8)
    where addType(at: place &+ UInt64(offset)) {
      metadata.append(AddressRange(start: place &+ UInt64(offset), byteCount: 8))
    }
  }

  /// Adds the type metadata to which the word at an address points; returns false if there is none.
  @discardableResult
  private mutating func addType(at place: Address) -> Bool {
    guard let word = memory.word(at: place), word & 7 == 0,
      let kind = memory.word(at: Address(word)).flatMap(MetadataKind.init), kind.isType,
      kind != .class || isClass(Address(word))
    else { return false }
    add(kind, at: Address(word))
    return true
  }

  /// True if metadata whose first word is 0 can be that of a class.
  ///
  /// `IntermediateDumpFormat.replacedWord` is accepted as the sizes, because the handler writes it if `HandlerOptions.privacy` is
  /// not `full`.
  private func isClass(_ place: Address) -> Bool {
    guard let sizes = memory.word(at: place &+ UInt64(ClassMetadata.sizesOffset)),
      let descriptor = memory.word(at: place &+ UInt64(ClassMetadata.descriptorOffset))
    else { return false }
    return ClassMetadata.isPlausible(
      sizes: sizes == IntermediateDumpFormat.replacedWord ? nil : sizes, descriptor: descriptor)
  }
}
