internal import IntermediateDump
internal import ProcessSnapshot

/// Reads the generic parameters of declarations, and their arguments in metadata.
///
/// Source: swift include/swift/ABI/GenericContext.h.
extension TypeReader {
  struct GenericParameter {
    enum Kind: UInt8 {
      case type
      /// The parameter stands for a list of types (a parameter pack).
      case pack
      /// The parameter stands for a number.
      case value
    }

    var kind: Kind
    /// True if the metadata contains the argument; false if the argument follows from another argument.
    var hasArgument: Bool
  }

  /// The generic parameters of a type and of the types around it.
  ///
  /// The result is empty if the type is not generic, if it has more than `maximumCount` parameters, or if they cannot
  /// be read.
  func genericParameters(of descriptor: Address) -> [GenericParameter] {
    guard let header = genericHeader(of: descriptor),
      let count = reader.constants(header, count: 2)?.littleEndian(at: 0, as: UInt16.self),
      Int(count) <= Self.maximumCount, count > 0,
      let bytes = reader.constants(header &+ 8, count: Int(count))
    else { return [] }
    let parameters = bytes.compactMap { byte in
      GenericParameter.Kind(rawValue: byte & 63).map {
        GenericParameter(kind: $0, hasArgument: byte >> 7 == 1)
      }
    }
    return parameters.count == bytes.count ? parameters : []
  }

  /// The address of the counts of generic parameters and requirements; nil if the descriptor is not generic, is of a
  /// kind that the `switch` does not list, or cannot be read.
  private func genericHeader(of descriptor: Address) -> Address? {
    guard let flags = reader.constant(descriptor), flags & Context.isGeneric != 0 else {
      return nil
    }
    switch flags & 31 {
    // Between the fields of a type's descriptor and the counts are two references that only the runtime uses (4 bytes
    // each).
    case Context.class: return descriptor &+ (44 + 8)
    case Context.struct, Context.enum: return descriptor &+ (28 + 8)
    case Context.extension: return descriptor &+ 12
    default: return nil
    }
  }

  /// The names of the generic arguments of a type, one for each parameter.
  func genericArguments(of descriptor: Address, at place: Address?, _ depth: Int) -> [TypeName] {
    let parameters = genericParameters(of: descriptor)
    guard let place else { return parameters.map { _ in .unknown } }
    var packs: Packs?
    if parameters.contains(where: { $0.kind == .pack }) {
      packs = self.packs(of: descriptor)
      guard packs != nil else { return parameters.map { _ in .unknown } }
    }
    // The lengths of the parameter packs come first.
    var next = place &+ (packs?.lengths ?? 0) &* 8
    var pack = 0
    return parameters.map { parameter in
      guard parameter.hasArgument else { return .unknown }
      defer { next = next &+ 8 }
      switch parameter.kind {
      case .type: return part(at: next, depth)
      case .value:
        return reader.word(next).map { TypeName("\(Int64(bitPattern: $0))") } ?? .unknown
      case .pack:
        defer { pack += 1 }
        guard let packs, packs.shapes.indices.contains(pack),
          let count = reader.word(place &+ packs.shapes[pack] &* 8),
          count <= UInt64(Self.maximumCount),
          // The lowest bit of the pointer to a pack only marks that the pack is on the heap.
          let list = reader.word(next).map({ Address($0 & ~1) })
        else { return .unknown }
        return .list((0..<count).map { part(at: list &+ 8 &* $0, depth) }, "Pack{", "}")
      }
    }
  }

  private struct Packs {
    /// The number of words in the metadata that contain the lengths of packs.
    var lengths: UInt64
    /// For each pack, the index of its length among the pack lengths.
    var shapes: [UInt64]
  }

  private func packs(of descriptor: Address) -> Packs? {
    guard let header = genericHeader(of: descriptor),
      let head = reader.constants(header, count: 4),
      let parameters = head.littleEndian(at: 0, as: UInt16.self),
      let requirements = head.littleEndian(at: 2, as: UInt16.self)
    else { return nil }
    let place = header &+ 8 &+ (UInt64(parameters) &+ 3) / 4 &* 4 &+ UInt64(requirements) &* 12
    guard let counts = reader.constants(place, count: 4),
      let count = counts.littleEndian(at: 0, as: UInt16.self),
      let lengths = counts.littleEndian(at: 2, as: UInt16.self),
      Int(count) <= Self.maximumCount, Int(lengths) <= Self.maximumCount,
      let bytes = reader.constants(place &+ 4, count: Int(count) &* 8)
    else { return nil }
    var shapes: [UInt64] = []
    for offset in stride(from: 0, to: Int(count) &* 8, by: 8) {
      // Packs of witness tables follow the packs of types, so the first of them ends this loop.
      guard let kind = bytes.littleEndian(at: offset, as: UInt16.self), kind == 0,
        let shape = bytes.littleEndian(at: offset &+ 4, as: UInt16.self), shape < lengths
      else { break }
      shapes.append(UInt64(shape))
    }
    return Packs(lengths: UInt64(lengths), shapes: shapes)
  }
}
