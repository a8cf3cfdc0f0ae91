internal import IntermediateDump
package import ProcessSnapshot

/// A Swift object to which a pointer points.
package struct SwiftObject: Sendable, Equatable {
  package enum Kind: String, Sendable {
    case object
    /// The box that holds the value of an `any Error`.
    case error
    /// The variables that a closure has captured, or one variable that outlives its function.
    case closure
    /// A value in separately allocated memory, such as a large value of a protocol type.
    case box
    case task
  }

  package var kind: Kind
  /// The type of the object, or of the value in the box; nil if only the kind is known.
  package var type: TypeName?
  package var count: ReferenceCount
  /// The types of the variables that a closure has captured; empty if they are not known.
  package var captures: [TypeName] = []
  /// The number of elements of a collection, or the number of bytes of a string or of data.
  package var size: UInt64?
  /// The first bytes of a string, as text; nil for an object of another type.
  package var text: String?
  /// The first bytes of an array of numbers, or of a `Data` value.
  package var firstBytes: [UInt8] = []
  /// The first elements of an array of strings, a set or a dictionary; "_" stands for an element, key or value that
  /// cannot be read.
  package var elements: [String] = []
}

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

  package init(_ reader: ProcessReader, showsContents: Bool) {
    self.reader = reader
    self.showsContents = showsContents
    types = TypeReader(reader: reader)
  }

  /// The object that begins at an address; nil if the memory there does not look like an object.
  package func object(at address: Address) -> SwiftObject? {
    guard address.value & 7 == 0, address.value >= 0x1_0000, address.value < 1 << 48,
      let metadata = reader.word(address), metadata & 7 == 0, metadata >= 0x1_0000,
      metadata < 1 << 48, let bits = reader.word(address &+ 8),
      let count = ReferenceCount(bits, read: reader.word),
      let kind = reader.word(Address(metadata)).flatMap(MetadataKind.init)
    else { return nil }
    let type = Address(metadata)
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
      if showsContents, count.state != .deinitializing { addContents(of: address, to: &object) }
      return object
    default: return nil
    }
  }
}
