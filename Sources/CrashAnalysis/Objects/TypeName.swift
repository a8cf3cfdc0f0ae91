/// The name of a type, both with and without the names of modules.
package struct TypeName: Sendable, Equatable {
  /// The name with modules, for example "Shop.Basket<Swift.Int>".
  package var qualified: String
  /// The name without modules, for example "Basket<Int>".
  package var short: String

  package init(qualified: String, short: String) {
    (self.qualified, self.short) = (qualified, short)
  }

  init(_ name: String) { self.init(qualified: name, short: name) }

  /// The name that stands for an unreadable part of a type.
  static var unknown: TypeName { TypeName("_") }

  /// Joins names with a separator, and puts a text before and after them.
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
