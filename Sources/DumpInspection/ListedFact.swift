package import IntermediateDump

/// The names under which the index of a database keeps a fact of a dump, and an export prints it.
///
/// Index and export have such a fact by its row alone.
package struct ListedFact: Sendable {
  /// A column of `postmortem export`.
  package struct Column: Sendable {
    package enum Kind: Sendable {
      case text
      /// One of few texts.
      case word
      case integer
      case bytes
      /// Nanoseconds, exported as seconds.
      case seconds
    }

    package let name: String
    package let kind: Kind
    /// For the document: one sentence without an end mark.
    package let meaning: String
  }

  /// The number of the field in a record of the index, below 32 for a number, else for a text.
  ///
  /// Never changed or reused.
  package let field: UInt8
  /// Nil where the fact is only a part of other columns.
  package let column: Column?
  /// The attribute's name in an export as OTLP; nil for a fact that has none.
  package let attribute: String?

  /// The facts that an index keeps, in the order of their fields.
  package static let all: [(key: IntermediateDumpKey, fact: ListedFact)] =
    IntermediateDumpKey.allCases.compactMap { key in key.definition.listed.map { (key, $0) } }
    .sorted { $0.fact.field < $1.fact.field }

  /// The fact of a key; nil where an index does not keep it.
  package static func of(_ key: IntermediateDumpKey) -> ListedFact? { byKey[key] }

  private static let byKey = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0.fact) })
}
