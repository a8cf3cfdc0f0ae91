internal import IntermediateDump
internal import ProcessSnapshot

/// Names types of Swift by their metadata and descriptors.
///
/// Source: swift include/swift/ABI/Metadata.h, MetadataKind.def, GenericContext.h; docs/ABI/TypeMetadata.rst.
/// The layouts are those of 64-bit platforms without Objective-C.
struct TypeReader {
  let reader: ProcessReader

  /// Types within types that are named.
  private static let maximumDepth = 6
  /// Arguments of one type, members of a tuple, parameters of a function.
  private static let maximumCount = 16

  private enum Kind {
    static let `class`: UInt64 = 0
    static let `struct`: UInt64 = 0x200
    static let `enum`: UInt64 = 0x201
    static let optional: UInt64 = 0x202
    static let tuple: UInt64 = 0x301
    static let function: UInt64 = 0x302
    static let existential: UInt64 = 0x303
    static let metatype: UInt64 = 0x304
    static let existentialMetatype: UInt64 = 0x306
  }

  /// The name of a type; nil if it cannot be read.
  func name(ofMetadata metadata: Address, depth: Int = 0) -> TypeName? {
    guard depth < Self.maximumDepth, metadata.value & 7 == 0, let kind = reader.word(metadata)
    else { return nil }
    switch kind {
    case Kind.class: return className(metadata, depth)
    case Kind.struct, Kind.enum, Kind.optional:
      guard let descriptor = pointer(metadata &+ 8) else { return nil }
      return name(
        ofDescriptor: descriptor, isClass: false, arguments: metadata &+ 16, depth: depth)
    case Kind.tuple: return tuple(metadata, depth)
    case Kind.metatype, Kind.existentialMetatype:
      return pointer(metadata &+ 8).flatMap { name(ofMetadata: $0, depth: depth + 1) }
        .map { $0 + TypeName(kind == Kind.metatype ? ".Type" : ".any.Type") }
    case Kind.function: return function(metadata, depth)
    case Kind.existential: return existential(metadata)
    default: return nil
    }
  }

  // MARK: - Classes

  private func className(_ metadata: Address, _ depth: Int) -> TypeName? {
    guard let head = reader.bytes(metadata, count: 48),
      let size = head.littleEndian(at: 24, as: UInt32.self),
      let mask = head.littleEndian(at: 28, as: UInt16.self),
      let classSize = head.littleEndian(at: 32, as: UInt32.self),
      let addressPoint = head.littleEndian(at: 36, as: UInt32.self),
      let descriptor = head.littleEndian(at: 40, width: 8),
      size >= 16, mask & (mask &+ 1) == 0, addressPoint < classSize, classSize >= 48,
      descriptor & 3 == 0
    else { return nil }
    let place = Address(descriptor)
    return name(
      ofDescriptor: place, isClass: true,
      arguments: classArguments(metadata, descriptor: place), depth: depth)
  }

  /// The address of a class's generic arguments, which come after the members of its superclasses.
  private func classArguments(_ metadata: Address, descriptor: Address) -> Address? {
    guard let flags = reader.constant(descriptor), flags & Context.isGeneric != 0 else {
      return nil
    }
    let words: Int64
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
    words =
      flags & Context.areMembersNegative != 0 ? 0 &- Int64(negative) : Int64(positive) &- Int64(own)
    return metadata &+ UInt64(bitPattern: words &* 8)
  }

  // MARK: - Descriptors

  private enum Context {
    static let `extension`: UInt32 = 1
    static let module: UInt32 = 0
    static let anonymous: UInt32 = 2
    static let `protocol`: UInt32 = 3
    static let `class`: UInt32 = 16
    static let `struct`: UInt32 = 17
    static let `enum`: UInt32 = 18
    static let isGeneric: UInt32 = 1 << 7
    static let areMembersNegative: UInt32 = 1 << 28
    static let hasResilientSuperclass: UInt32 = 1 << 29
    /// Bit 0 of the flags of a generic context: arguments that are lists of types.
    static let hasPacks: UInt16 = 1
  }

  /// - Parameters:
  ///   - arguments: the address of the generic arguments; nil if it is not known.
  private func name(
    ofDescriptor descriptor: Address, isClass: Bool, arguments: Address?, depth: Int
  ) -> TypeName? {
    guard let kind = reader.constant(descriptor).map({ $0 & 31 }),
      isClass ? kind == Context.class : kind == Context.struct || kind == Context.enum
    else { return nil }
    var parts: [TypeName] = []
    var module: String?
    var context: Address? = descriptor
    var parameters = parameters(of: descriptor)
    let values = self.arguments(at: arguments, parameters, depth: depth)
    while let place = context, parts.count < 8 {
      guard let flags = reader.constant(place) else { break }
      switch flags & 31 {
      case Context.class, Context.struct, Context.enum:
        guard let name = reader.relative(place &+ 8).flatMap(reader.name) else { return nil }
        parameters = self.parameters(of: place)
        let parent = reader.indirect(place &+ 4)
        let outer = genericCount(around: parent)
        let own = outer < parameters.count ? outer..<parameters.count : 0..<0
        parts.append(
          own.isEmpty
            ? TypeName(name)
            : TypeName(name)
              + TypeName.list(
                own.map { values.indices.contains($0) ? values[$0] : .unknown }, "<", ">"))
        context = parent
      case Context.module:
        module = reader.relative(place &+ 8).flatMap(reader.name)
        context = nil
      case Context.extension, Context.anonymous: context = reader.indirect(place &+ 4)
      default: context = nil
      }
    }
    guard !parts.isEmpty else { return nil }
    let joined = TypeName.list(parts.reversed(), "", "", separator: ".")
    return TypeName(
      qualified: (module.map { $0 + "." } ?? "") + joined.qualified, short: joined.short)
  }

  /// Generic parameters of a type with those of the types around it.
  ///
  /// - Returns: for each, whether its metadata is among the arguments; empty of a type that is not
  ///   generic.
  private func parameters(of descriptor: Address) -> [Bool] {
    guard let flags = reader.constant(descriptor), flags & Context.isGeneric != 0,
      let header = genericHeader(of: descriptor, kind: flags & 31),
      let head = reader.constants(header, count: 8),
      let count = head.littleEndian(at: 0, as: UInt16.self), Int(count) <= Self.maximumCount,
      let bytes = reader.constants(header &+ 8, count: Int(count))
    else { return [] }
    let isPlain = (head.littleEndian(at: 6, as: UInt16.self) ?? 0) & Context.hasPacks == 0
    return bytes.map { isPlain && $0 >> 7 == 1 && $0 & 63 == 0 }
  }

  /// The place of the counts of generic parameters.
  private func genericHeader(of descriptor: Address, kind: UInt32) -> Address? {
    switch kind {
    // Behind the fields of the kind come two references of the runtime's own.
    case Context.class: descriptor &+ (44 + 8)
    case Context.struct, Context.enum: descriptor &+ (28 + 8)
    case Context.extension: descriptor &+ 12
    default: nil
    }
  }

  /// The number of generic parameters of a context and all around it.
  ///
  /// The anonymous context of a private type repeats those of the type.
  private func genericCount(around context: Address?) -> Int {
    var context = context
    for _ in 0..<8 {
      guard let place = context, let flags = reader.constant(place) else { return 0 }
      guard flags & 31 == Context.anonymous else { return parameters(of: place).count }
      context = reader.indirect(place &+ 4)
    }
    return 0
  }

  private func arguments(at place: Address?, _ parameters: [Bool], depth: Int) -> [TypeName] {
    var next = place
    return parameters.map { hasMetadata in
      guard hasMetadata, let place = next else { return .unknown }
      next = place &+ 8
      return pointer(place).flatMap { name(ofMetadata: $0, depth: depth + 1) } ?? .unknown
    }
  }

  private func module(around context: Address?) -> String? {
    var context = context
    for _ in 0..<8 {
      guard let place = context, let flags = reader.constant(place) else { return nil }
      if flags & 31 == Context.module { return reader.relative(place &+ 8).flatMap(reader.name) }
      context = reader.indirect(place &+ 4)
    }
    return nil
  }

  // MARK: - Types without a name

  private func tuple(_ metadata: Address, _ depth: Int) -> TypeName? {
    guard let count = reader.word(metadata &+ 8), count <= UInt64(Self.maximumCount) else {
      return nil
    }
    let members = (0..<count).map { index in
      pointer(metadata &+ (24 &+ 16 &* index))
        .flatMap { name(ofMetadata: $0, depth: depth + 1) } ?? .unknown
    }
    return .list(members, "(", ")")
  }

  private func function(_ metadata: Address, _ depth: Int) -> TypeName? {
    guard let flags = reader.word(metadata &+ 8), flags & 0xFFFF <= UInt64(Self.maximumCount)
    else { return nil }
    func type(_ place: Address) -> TypeName {
      pointer(place).flatMap { name(ofMetadata: $0, depth: depth + 1) } ?? .unknown
    }
    let parameters = (0..<flags & 0xFFFF).map { type(metadata &+ (24 &+ 8 &* $0)) }
    let effects = (flags >> 29 & 1 == 1 ? " async" : "") + (flags >> 24 & 1 == 1 ? " throws" : "")
    return .list(parameters, "(", ")") + TypeName(effects + " -> ") + type(metadata &+ 16)
  }

  private func existential(_ metadata: Address) -> TypeName? {
    guard let head = reader.bytes(metadata &+ 8, count: 8),
      let flags = head.littleEndian(at: 0, as: UInt32.self),
      let count = head.littleEndian(at: 4, as: UInt32.self), count <= Self.maximumCount
    else { return nil }
    // Bit 31 is clear for a type of classes only, bit 30 set with a superclass.
    guard flags >> 30 & 1 == 0 else { return nil }
    if count == 0 {
      return flags >> 31 == 1 ? TypeName("Any") : TypeName("AnyObject").inModule("Swift")
    }
    var names: [TypeName] = []
    for index in 0..<UInt64(count) {
      guard let descriptor = pointer(metadata &+ (16 &+ 8 &* index)),
        reader.constant(descriptor).map({ $0 & 31 == Context.protocol }) == true,
        let name = reader.relative(descriptor &+ 8).flatMap(reader.name)
      else { return nil }
      let module = module(around: reader.indirect(descriptor &+ 4))
      let plain = TypeName(name)
      names.append(module.map(plain.inModule) ?? plain)
    }
    return .list(names, "", "", separator: " & ")
  }

  private func pointer(_ place: Address) -> Address? {
    reader.word(place).flatMap { $0 >= 0x1_0000 && $0 < 1 << 48 ? Address($0) : nil }
  }
}

extension TypeName {
  fileprivate func inModule(_ module: String) -> TypeName {
    TypeName(qualified: module + "." + qualified, short: short)
  }
}
