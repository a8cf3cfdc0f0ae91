/// The form in which the value of a key is stored.
public enum IntermediateDumpKeyKind: UInt8, Sendable {
  case map
  /// Of maps.
  case array
  case unsigned
  case signed
  /// Unsigned, printed in hexadecimal.
  case address
  /// Nanoseconds since 1970, signed.
  case time
  case text
  case bytes
}

/// Kinds of keys.
///
/// Not a `Set`, whose code every program with the handler would carry.
package struct IntermediateDumpKeyKinds: Sendable, ExpressibleByArrayLiteral {
  private let bits: UInt8

  package init(arrayLiteral kinds: IntermediateDumpKeyKind...) {
    bits = kinds.reduce(0) { $0 | 1 << $1.rawValue }
  }

  package func contains(_ kind: IntermediateDumpKeyKind) -> Bool { bits >> kind.rawValue & 1 == 1 }
}
