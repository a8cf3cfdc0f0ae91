internal import IntermediateDump
internal import ProcessSnapshot

/// Finds the names of declarations from their descriptors; a name includes the names of the declarations around it.
extension TypeReader {
  enum Context {
    static let module: UInt32 = 0
    static let `extension`: UInt32 = 1
    static let anonymous: UInt32 = 2
    static let `protocol`: UInt32 = 3
    static let `class`: UInt32 = 16
    static let `struct`: UInt32 = 17
    static let `enum`: UInt32 = 18
    static let isGeneric: UInt32 = 1 << 7
    static let areMembersNegative: UInt32 = 1 << 28
    static let hasResilientSuperclass: UInt32 = 1 << 29
  }

  /// - Parameters:
  ///   - arguments: the address of the generic arguments; nil if it is not known.
  func name(
    ofDescriptor descriptor: Address, isClass: Bool, arguments: Address?, depth: Int
  ) -> TypeName? {
    guard let kind = reader.constant(descriptor).map({ $0 & 31 }),
      isClass ? kind == Context.class : kind == Context.struct || kind == Context.enum
    else { return nil }
    return name(
      ofContext: descriptor, arguments: genericArguments(of: descriptor, at: arguments, depth))
  }

  func name(ofProtocol descriptor: Address) -> TypeName? {
    guard reader.constant(descriptor).map({ $0 & 31 == Context.protocol }) == true else {
      return nil
    }
    return name(ofContext: descriptor, arguments: [])
  }

  /// - Parameters:
  ///   - values: the generic arguments, starting with those of the outermost declaration.
  private func name(ofContext descriptor: Address, arguments values: [TypeName]) -> TypeName? {
    var parts: [TypeName] = []
    func add(_ name: String, arguments own: Range<Int>) {
      let named = own.map { values.indices.contains($0) ? values[$0] : .unknown }
      parts.append(named.isEmpty ? TypeName(name) : TypeName(name) + .list(named, "<", ">"))
    }
    var module: String?
    var context: Address? = descriptor
    while let place = context, parts.count < 8 {
      guard let flags = reader.constant(place) else { break }
      switch flags & 31 {
      case Context.class, Context.struct, Context.enum, Context.protocol:
        guard let name = reader.relative(place &+ 8).flatMap(reader.name) else { return nil }
        let parent = reader.indirect(place &+ 4)
        let outer = genericCount(around: parent)
        let all = genericParameters(of: place).count
        add(name, arguments: outer < all ? outer..<all : 0..<0)
        context = parent
      case Context.module:
        module = reader.relative(place &+ 8).flatMap(reader.name)
        context = nil
      case Context.extension:
        switch extendedType(of: place) {
        case .descriptor(let extended): context = extended
        case .standard(let name, let count):
          add(name, arguments: 0..<count)
          (module, context) = ("Swift", nil)
        case nil:
          parts.append(.unknown)
          context = nil
        }
      case Context.anonymous: context = reader.indirect(place &+ 4)
      default: context = nil
      }
    }
    guard !parts.isEmpty else { return nil }
    let joined = TypeName.list(parts.reversed(), "", "", separator: ".")
    return module.map(joined.inModule) ?? joined
  }

  /// The number of generic parameters of a context and of all contexts around it.
  ///
  /// The anonymous context around a private type is skipped, because it repeats the parameters of the type.
  private func genericCount(around context: Address?) -> Int {
    var context = context
    for _ in 0..<8 {
      guard let place = context, let flags = reader.constant(place) else { return 0 }
      guard flags & 31 == Context.anonymous else { return genericParameters(of: place).count }
      context = reader.indirect(place &+ 4)
    }
    return 0
  }

  // MARK: - Extensions

  private enum Extended {
    case descriptor(Address)
    /// A standard type, for which mangled names use "S" and a single letter.
    case standard(String, parameters: Int)
  }

  /// The type that an extension extends, found from the start of the type's mangled name.
  ///
  /// The result is nil if the name starts with neither a symbolic reference nor a standard type, or cannot be read.
  ///
  /// Source: swift docs/ABI/Mangling.rst, "Symbolic references", "Substitutions".
  private func extendedType(of descriptor: Address) -> Extended? {
    guard let place = reader.relative(descriptor &+ 8),
      let bytes = reader.constants(place, count: 2), let first = bytes.first,
      let second = bytes.last
    else { return nil }
    switch first {
    case 1: return reader.relative(place &+ 1).map(Extended.descriptor)
    case 2:
      return reader.relative(place &+ 1).flatMap(reader.word).map { .descriptor(Address($0)) }
    case UInt8(ascii: "S"):
      let letter = String(UnicodeScalar(second))
      return Self.standardTypes[letter].map { .standard($0, parameters: $1) }
    default: return nil
    }
  }

  /// Source: swift include/swift/Demangling/StandardTypesMangling.def.
  private static let standardTypes: [String: (String, Int)] = [
    "a": ("Array", 1), "b": ("Bool", 0), "D": ("Dictionary", 2), "d": ("Double", 0),
    "f": ("Float", 0), "h": ("Set", 1), "I": ("DefaultIndices", 1), "i": ("Int", 0),
    "J": ("Character", 0), "N": ("ClosedRange", 1), "n": ("Range", 1), "O": ("ObjectIdentifier", 0),
    "P": ("UnsafePointer", 1), "p": ("UnsafeMutablePointer", 1), "q": ("Optional", 1),
    "R": ("UnsafeBufferPointer", 1), "r": ("UnsafeMutableBufferPointer", 1), "S": ("String", 0),
    "s": ("Substring", 0), "u": ("UInt", 0), "V": ("UnsafeRawPointer", 0),
    "v": ("UnsafeMutableRawPointer", 0), "W": ("UnsafeRawBufferPointer", 0),
    "w": ("UnsafeMutableRawBufferPointer", 0),
  ]
}

extension TypeName {
  func inModule(_ module: String) -> TypeName {
    TypeName(qualified: module + "." + qualified, short: short)
  }
}
