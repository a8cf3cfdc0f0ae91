internal import IntermediateDump
package import ProcessSnapshot

/// Recognizes the Swift objects of a process, from its memory and the constants in its modules.
///
/// `ObjectReader` never traps, whatever bytes the memory contains.
///
/// Source: swift stdlib/public/SwiftShims/swift/shims/HeapObject.h.
/// Source: swift stdlib/public/runtime/ErrorObject.h.
package struct ObjectReader {
  let reader: ProcessReader
  private let types: TypeReader
  /// True if the report may show the contents of strings and collections; false if it must leave out secrets.
  private let showsContents: Bool
  /// The memory of the threads' stacks, and of the slabs in which tasks allocate what their functions need.
  private let stacks: [AddressRange]

  package init(_ reader: ProcessReader, showsContents: Bool, stacks: [AddressRange] = []) {
    self.reader = reader
    self.showsContents = showsContents
    self.stacks = stacks
    types = TypeReader(reader: reader)
  }

  func name(ofClass metadata: Address) -> TypeName? { types.name(ofMetadata: metadata) }

  /// The object that begins at an address; nil if the memory there does not look like an object.
  package func object(at address: Address) -> SwiftObject? {
    guard address.value & 7 == 0, address.value >= 0x1_0000, address.value < 1 << 48,
      let metadata = reader.word(address), metadata & 7 == 0, metadata >= 0x1_0000,
      metadata < 1 << 48, let bits = reader.word(address &+ 8),
      var count = ReferenceCount(bits, read: reader.word),
      let kind = reader.word(Address(metadata)).flatMap(MetadataKind.init)
    else { return nil }
    let type = Address(metadata)
    let isNew = bits == ReferenceCount.ofNewObject
    // The compiler gives an object on the stack or in a task's slab an unowned reference of its own, so that its memory is never freed.
    // Source: swift stdlib/public/SwiftShims/swift/shims/RefCount.h, initForNotFreeing.
    if count.unowned > 0, !count.hasSideTable, stacks.contains(where: { $0.contains(address) }) {
      count.unowned &-= 1
    }
    switch kind {
    case .closure:
      // The metadata contains the offset of the first captured variable, and the address of a description of the
      // variables.
      guard let offset = reader.word(type &+ 8), UInt32(truncatingIfNeeded: offset) >= 16,
        UInt32(truncatingIfNeeded: offset) < 1 << 16
      else { return nil }
      let captures = reader.word(type &+ 16).map { types.captures(at: Address($0)) } ?? []
      return SwiftObject(kind: .closure, count: count, captures: captures)
    case .box:
      let boxed = reader.word(type &+ 16).flatMap { types.name(ofMetadata: Address($0)) }
      return boxed.map { SwiftObject(kind: .box, type: $0, count: count) }
    case .error:
      let inner = reader.word(address &+ 16).flatMap { types.name(ofMetadata: Address($0)) }
      return SwiftObject(kind: .error, type: inner, count: count)
    case .task: return SwiftObject(kind: .task, count: count)
    case .class:
      guard let name = types.name(ofMetadata: type) else { return nil }
      var object = SwiftObject(kind: .object, type: name, count: count)
      if showsContents, count.state != .deinitializing {
        ContentReader(reader: reader).addContents(of: address, to: &object)
      }
      object.isCertain = !isNew || object.size != nil
      return object
    default: return nil
    }
  }
}
