internal import IntermediateDump
internal import ProcessSnapshot

/// Names types that consist of other types and have no declaration, such as tuples, functions and protocol types.
///
/// The result is nil if the number of components, the labels, flags or protocols of a type cannot be read or are not
/// supported, or if the type has more than `maximumCount` components. A component type that cannot be read is named
/// `_`.
extension TypeReader {
  func tuple(_ metadata: Address, _ depth: Int) -> TypeName? {
    guard let count = reader.word(metadata &+ 8), count <= UInt64(Self.maximumCount),
      let labels = reader.word(metadata &+ 16)
    else { return nil }
    var names: [Substring] = []
    if labels != 0 {
      // Each label ends with a space; for a member without a label, there is only the space.
      guard let text = reader.name(Address(labels)) else { return nil }
      names = text.split(separator: " ", omittingEmptySubsequences: false)
    }
    let members = (0..<count).map { index in
      let type = part(at: metadata &+ (24 &+ 16 &* index), depth)
      guard let place = Int(exactly: index), names.indices.contains(place),
        case let name = names[place], !name.isEmpty
      else { return type }
      return TypeName(name + ": ") + type
    }
    return .list(members, "(", ")")
  }

  // MARK: - Functions

  /// Source: swift include/swift/ABI/MetadataValues.h, TargetFunctionTypeFlags, TargetExtendedFunctionTypeFlags.
  private enum Function {
    static let isThrowing: UInt64 = 1 << 24
    static let hasParameterFlags: UInt64 = 1 << 25
    static let isDifferentiable: UInt64 = 1 << 27
    static let hasGlobalActor: UInt64 = 1 << 28
    static let isAsync: UInt64 = 1 << 29
    static let isSendable: UInt64 = 1 << 30
    static let hasMoreFlags: UInt64 = 1 << 31

    static let throwsType: UInt32 = 1
    static let isolation: UInt32 = 0b1110
    static let isIsolatedAny: UInt32 = 2
    static let isNonisolatedNonsending: UInt32 = 4
    static let sendsResult: UInt32 = 16

    static let conventions = ["", "@convention(block) ", "@convention(thin) ", "@convention(c) "]
  }

  func function(_ metadata: Address, _ depth: Int) -> TypeName? {
    guard let flags = reader.word(metadata &+ 8), flags & 0xFFFF <= UInt64(Self.maximumCount),
      flags & Function.isDifferentiable == 0,
      case let convention = Int(truncatingIfNeeded: flags >> 16 & 0xFF),
      convention < Function.conventions.count
    else { return nil }
    let count = flags & 0xFFFF
    var parameters = (0..<count).map { part(at: metadata &+ (24 &+ 8 &* $0), depth) }
    var end = metadata &+ (24 &+ 8 &* count)
    if flags & Function.hasParameterFlags != 0 {
      for index in parameters.indices {
        guard let flags = fourBytes(end &+ 4 &* UInt64(index)) else { return nil }
        parameters[index] = Self.parameter(parameters[index], flags)
      }
      end = (end &+ 4 &* count &+ 7).alignedDown(to: 8)
    }
    var before = TypeName(Function.conventions[convention])
    var actor: TypeName?
    if flags & Function.hasGlobalActor != 0 {
      actor = TypeName("@") + part(at: end, depth) + TypeName(" ")
      end = end &+ 8
    }
    var error = TypeName("")
    var more: UInt32 = 0
    if flags & Function.hasMoreFlags != 0 {
      guard let flags = fourBytes(end) else { return nil }
      more = flags
      end = end &+ 8
    }
    if more & Function.throwsType != 0 { error = .list([part(at: end, depth)], "(", ")") }
    switch more & Function.isolation {
    case 0: break
    case Function.isIsolatedAny: before = before + TypeName("@isolated(any) ")
    case Function.isNonisolatedNonsending: before = before + TypeName("nonisolated(nonsending) ")
    default: return nil
    }
    before = before + (actor ?? TypeName(""))
    if flags & Function.isSendable != 0 { before = before + TypeName("@Sendable ") }
    var effects = TypeName(flags & Function.isAsync != 0 ? " async" : "")
    if flags & Function.isThrowing != 0 { effects = effects + TypeName(" throws") + error }
    let arrow = TypeName(more & Function.sendsResult != 0 ? " -> sending " : " -> ")
    return before + .list(parameters, "(", ")") + effects + arrow + part(at: metadata &+ 16, depth)
  }

  /// Source: swift include/swift/ABI/MetadataValues.h, TargetParameterTypeFlags.
  private static func parameter(_ type: TypeName, _ flags: UInt32) -> TypeName {
    let ownership =
      switch flags & 0x7F {
      case 1: "inout "
      case 2: "__shared "
      case 3: "__owned "
      default: ""
      }
    let isolation =
      (flags & 0x800 != 0 ? "sending " : "") + (flags & 0x400 != 0 ? "isolated " : "")
    return TypeName(isolation + ownership) + type + TypeName(flags & 0x80 != 0 ? "..." : "")
  }

  private func fourBytes(_ place: Address) -> UInt32? {
    reader.bytes(place, count: 4)?.littleEndian(at: 0, as: UInt32.self)
  }

  // MARK: - Types of protocols

  func existential(_ metadata: Address, _ depth: Int) -> TypeName? {
    guard let head = reader.bytes(metadata &+ 8, count: 8),
      let flags = head.littleEndian(at: 0, as: UInt32.self),
      let count = head.littleEndian(at: 4, as: UInt32.self), count <= Self.maximumCount
    else { return nil }
    let isOfClasses = flags >> 31 == 0
    let hasSuperclass = flags >> 30 & 1 == 1
    let anyObject = TypeName("AnyObject").inModule("Swift")
    var place = metadata &+ 16
    var names: [TypeName] = []
    if hasSuperclass {
      names.append(part(at: place, depth))
      place = place &+ 8
    } else if count == 0 {
      return isOfClasses ? anyObject : TypeName("Any")
    }
    var isImplied = hasSuperclass
    for index in 0..<UInt64(count) {
      guard let descriptor = pointer(place &+ 8 &* index),
        let flags = reader.constant(descriptor), let name = name(ofProtocol: descriptor)
      else { return nil }
      // Bit 16 is clear for a protocol to which only classes can conform.
      if flags >> 16 & 1 == 0 { isImplied = true }
      names.append(name)
    }
    if isOfClasses, !isImplied { names.append(anyObject) }
    return .list(names, "", "", separator: " & ")
  }
}
