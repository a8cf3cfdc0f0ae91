/// The name of a type, with and without modules.
package struct TypeName: Sendable, Equatable {
  /// For example "Shop.Basket<Swift.Int>".
  package var qualified: String
  /// For example "Basket<Int>".
  package var short: String

  package init(qualified: String, short: String) {
    (self.qualified, self.short) = (qualified, short)
  }

  init(_ name: String) { self.init(qualified: name, short: name) }

  /// The text for a part that cannot be read.
  static var unknown: TypeName { TypeName("_") }

  /// Puts names between two texts, separated.
  static func list(
    _ names: [TypeName], _ before: String, _ after: String, separator: String = ", "
  ) -> TypeName {
    TypeName(
      qualified: before + names.map(\.qualified).joined(separator: separator) + after,
      short: before + names.map(\.short).joined(separator: separator) + after)
  }

  static func + (left: TypeName, right: TypeName) -> TypeName {
    TypeName(qualified: left.qualified + right.qualified, short: left.short + right.short)
  }
}
