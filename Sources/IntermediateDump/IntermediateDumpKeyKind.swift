/// How the value of a key is stored.
public enum IntermediateDumpKeyKind: UInt8, Sendable {
  case map
  /// An array of maps.
  case array
  case unsigned
  case signed
  /// An unsigned number, printed in hexadecimal.
  case address
  /// A signed number of nanoseconds since 1970.
  case time
  case text
  case bytes
}

/// The kinds that the value of a key may have.
///
/// This is not a `Set`, because every program with the handler would then contain the code of `Set`.
package struct IntermediateDumpKeyKinds: Sendable, ExpressibleByArrayLiteral {
  private let bits: UInt8

  package init(arrayLiteral kinds: IntermediateDumpKeyKind...) {
    bits = kinds.reduce(0) { $0 | 1 << $1.rawValue }
  }

  package func contains(_ kind: IntermediateDumpKeyKind) -> Bool { bits >> kind.rawValue & 1 == 1 }
}
