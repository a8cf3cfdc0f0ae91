internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the types of the variables that a closure has captured, in the compiler's description of the closure's
/// context.
///
/// Source: swift include/swift/RemoteInspection/Records.h, CaptureDescriptor.
extension TypeReader {
  /// The types of the captured variables, in order.
  ///
  /// The list is empty if the program contains no description of the captured variables, for example because the
  /// program was built without reflection metadata.
  func captures(at description: Address) -> [TypeName] {
    guard let count = reader.constant(description), count <= Self.maximumCount else { return [] }
    // The references to the types come after three counts: of captures, of metadata sources and of bindings.
    return (0..<UInt64(count)).map { index in
      reader.relative(description &+ 12 &+ 4 &* index).flatMap(name(ofMangled:)) ?? .unknown
    }
  }

  /// The type that a mangled name describes.
  ///
  /// The result is nil if the type depends on generic arguments, or if the name contains an unsupported or unreadable
  /// part.
  private func name(ofMangled place: Address) -> TypeName? {
    guard let mangled = wholeMangled(place), let name = Demangler.demangle("$s\(mangled)D"),
      name.first != "$"
    else { return nil }
    // Demangled types of captured functions contain attributes of the compiler's intermediate language (SIL), such as
    // `@callee_guaranteed`, which are removed.
    let plain = name.replacing(#/@(?!Sendable\b)[a-z_]+ /#, with: "")
    return TypeName(qualified: plain, short: plain.withoutModules)
  }

  /// The maximum number of bytes of a mangled name that are read.
  private static let longestMangled: UInt64 = 255

  /// Reads a mangled name and replaces each reference to a declaration with the declaration's mangled name.
  ///
  /// Source: swift docs/ABI/Mangling.rst, "Symbolic references".
  private func wholeMangled(_ start: Address) -> String? {
    var text = ""
    var place = start
    func next() -> UInt8? {
      guard place < start &+ Self.longestMangled,
        let byte = reader.constants(place, count: 1)?.first
      else { return nil }
      place = place &+ 1
      return byte
    }
    while let byte = next() {
      switch byte {
      case 0: return text
      case 1, 2:
        guard let target = reader.relative(place),
          let context = byte == 1 ? target : reader.word(target).map({ Address($0) }),
          let name = mangled(ofContext: context)
        else { return nil }
        text += name
        place = place &+ 4
      case UInt8(ascii: "1")...UInt8(ascii: "9"):
        // In a mangled name, the length of each identifier precedes it, as in "3Foo".
        var length = Int(byte &- UInt8(ascii: "0"))
        var character = next()
        while let digit = character, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) {
          length = length &* 10 &+ Int(digit &- UInt8(ascii: "0"))
          guard length <= Self.longestMangled else { return nil }
          character = next()
        }
        var name = ""
        while let found = character {
          name.unicodeScalars.append(UnicodeScalar(found))
          if name.utf8.count >= length { break }
          character = next()
        }
        text += "\(length)\(name)"
      case UInt8(ascii: "x") where text.hasSuffix("_X"):
        // The mangled name of a box of one variable ends in `_Xx`, or in `z_Xx` if the variable is mutable.
        return next() == 0 ? String(text.dropLast(text.hasSuffix("z_X") ? 3 : 2)) : nil
      // Generic parameters, opaque types and substitutions are not supported. A substitution refers to an earlier part
      // of the name by number, and the replacement of symbolic references changes these numbers.
      case UInt8(ascii: "x"), UInt8(ascii: "q"), UInt8(ascii: "Q"), UInt8(ascii: "A"),
        UInt8(ascii: "0"), 3..<0x20, 0x7F...:
        return nil
      case UInt8(ascii: "S"):
        guard let letter = next(), letter > 0x20, letter < 0x7F else { return nil }
        text += "S" + String(UnicodeScalar(letter))
      default: text.unicodeScalars.append(UnicodeScalar(byte))
      }
    }
    return nil
  }

  /// The mangled name of the declaration that a context descriptor describes; the discriminator of a private
  /// declaration is left out.
  private func mangled(ofContext descriptor: Address, depth: Int = 0) -> String? {
    guard depth < 8, let flags = reader.constant(descriptor) else { return nil }
    let parent = reader.indirect(descriptor &+ 4)
    func outer() -> String? { parent.flatMap { mangled(ofContext: $0, depth: depth + 1) } }
    func name() -> String? {
      reader.relative(descriptor &+ 8).flatMap(reader.name).flatMap { name in
        let isPlain = name.utf8.allSatisfy { $0 < 0x80 } && name.first?.isNumber == false
        return isPlain ? "\(name.utf8.count)\(name)" : nil
      }
    }
    switch flags & 31 {
    case Context.module: return name().map { $0 == "5Swift" ? "s" : $0 == "3__C" ? "So" : $0 }
    case Context.anonymous: return outer()
    case Context.class: return outer().flatMap { outer in name().map { outer + $0 + "C" } }
    case Context.struct: return outer().flatMap { outer in name().map { outer + $0 + "V" } }
    case Context.enum: return outer().flatMap { outer in name().map { outer + $0 + "O" } }
    case Context.protocol: return outer().flatMap { outer in name().map { outer + $0 } }
    default: return nil
    }
  }
}

extension String {
  /// A demangled type without the names of modules.
  ///
  /// In a dotted name, the first part is the module's name, so it is removed.
  fileprivate var withoutModules: String {
    replacing(/(^|[^\w.>)])\w+\.(?=\w)/) { $0.output.1 }
  }
}
