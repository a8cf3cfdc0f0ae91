internal import IntermediateDump
internal import ProcessSnapshot

/// Finds the names of Swift types from their metadata and descriptors.
///
/// Source: swift include/swift/ABI/Metadata.h, GenericContext.h; docs/ABI/TypeMetadata.rst.
///
/// The memory layouts are those of 64-bit platforms without Objective-C.
struct TypeReader {
  let reader: ProcessReader

  /// The maximum nesting depth of types.
  private static let maximumDepth = 12
  /// The maximum number of generic arguments of a type, members of a tuple, or parameters of a function.
  static let maximumCount = 16

  /// The name of a type; nil if it cannot be read, or if reports do not show its kind of type.
  func name(ofMetadata metadata: Address, depth: Int = 0) -> TypeName? {
    guard depth < Self.maximumDepth, metadata.value & 7 == 0, let kind = kind(metadata)
    else { return nil }
    switch kind {
    case .class: return className(metadata, depth)
    case .struct, .enum, .optional:
      guard let descriptor = pointer(metadata &+ 8) else { return nil }
      return name(
        ofDescriptor: descriptor, isClass: false, arguments: metadata &+ 16, depth: depth)
    case .tuple: return tuple(metadata, depth)
    case .metatype, .existentialMetatype: return metatype(metadata, kind, depth)
    case .function: return function(metadata, depth)
    case .existential: return existential(metadata, depth)
    case .closure, .box, .error, .task: return nil
    }
  }

  private func kind(_ metadata: Address) -> MetadataKind? {
    reader.word(metadata).flatMap(MetadataKind.init)
  }

  /// The name of the type to which the pointer at `place` points, for use as a part of another type's name.
  func part(at place: Address, _ depth: Int) -> TypeName {
    pointer(place).flatMap { name(ofMetadata: $0, depth: depth + 1) } ?? .unknown
  }

  private func metatype(
    _ metadata: Address, _ kind: MetadataKind, _ depth: Int
  ) -> TypeName? {
    guard let instance = pointer(metadata &+ 8), let instanceKind = self.kind(instance),
      let name = name(ofMetadata: instance, depth: depth + 1)
    else { return nil }
    // The metatype of a protocol P itself is `P.Protocol`; `P.Type` is the metatype of a type that conforms to P.
    let isProtocol =
      kind == .metatype && (instanceKind == .existential || instanceKind == .existentialMetatype)
    let needsParentheses =
      kind == .metatype
      && (instanceKind == .function
        || instanceKind == .existential && name.short.contains(" & "))
    return (needsParentheses ? .list([name], "(", ")") : name)
      + TypeName(isProtocol ? ".Protocol" : ".Type")
  }

  // MARK: - Classes

  private func className(_ metadata: Address, _ depth: Int) -> TypeName? {
    guard let head = reader.bytes(metadata, count: 48),
      let instance = head.littleEndian(at: 24, width: 8),
      let sizes = head.littleEndian(at: 32, width: 8),
      let descriptor = head.littleEndian(at: 40, width: 8)
    else { return nil }
    // A sanitized dump contains only the pointers of this metadata. Its other words have been replaced, so they are not
    // checked.
    let isReplaced =
      instance == IntermediateDumpFormat.replacedWord
      && sizes == IntermediateDumpFormat.replacedWord
    let mask = instance >> 32 & 0xFFFF
    guard ClassMetadata.isPlausible(sizes: isReplaced ? nil : sizes, descriptor: descriptor),
      isReplaced || instance & 0xFFFF_FFFF >= 16 && mask & (mask &+ 1) == 0
    else { return nil }
    let place = Address(descriptor)
    return name(
      ofDescriptor: place, isClass: true,
      arguments: classArguments(metadata, descriptor: place), depth: depth)
  }

  /// The address of a class's generic arguments in its metadata.
  ///
  /// In the metadata, these arguments follow the members that the class inherits from its superclasses.
  private func classArguments(_ metadata: Address, descriptor: Address) -> Address? {
    guard let flags = reader.constant(descriptor), flags & Context.isGeneric != 0 else {
      return nil
    }
    if flags & Context.hasResilientSuperclass != 0 {
      guard let bounds = reader.relative(descriptor &+ 24), let offset = reader.word(bounds),
        offset != 0
      else { return nil }
      return metadata &+ offset
    }
    guard let negative = reader.constant(descriptor &+ 24),
      let positive = reader.constant(descriptor &+ 28),
      let own = reader.constant(descriptor &+ 32), own <= positive || own <= negative
    else { return nil }
    let words =
      flags & Context.areMembersNegative != 0 ? 0 &- Int64(negative) : Int64(positive) &- Int64(own)
    return metadata &+ UInt64(bitPattern: words &* 8)
  }

  func pointer(_ place: Address) -> Address? {
    reader.word(place).flatMap { $0 >= 0x1_0000 && $0 < 1 << 48 ? Address($0) : nil }
  }
}
