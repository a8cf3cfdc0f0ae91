package import IntermediateDump

/// The names under which the index of a database keeps a fact of a dump, and an export prints it.
///
/// Such a fact needs no code in the index or the export apart from this row.
package struct ListedFact: Sendable {
  /// A column of `postmortem export`.
  package struct Column: Sendable {
    package enum Kind: Sendable {
      case text
      /// One of a small set of texts.
      case word
      case integer
      case bytes
      /// Nanoseconds, exported as seconds.
      case seconds
    }

    package let name: String
    package let kind: Kind
    /// The description of the column in the documentation: one sentence without a final period.
    package let meaning: String
  }

  /// The number of the field in a record of the index: below 32 for a number, otherwise for a text.
  ///
  /// Never changed or reused.
  package let field: UInt8
  /// The column; nil if the fact is only a part of other columns.
  package let column: Column?
  /// The attribute's name in an export as OTLP; nil if the export does not contain the fact.
  package let attribute: String?

  /// The facts that an index keeps, in the order of their fields.
  package static let all: [(key: IntermediateDumpKey, fact: ListedFact)] =
    IntermediateDumpKey.allCases.compactMap { key in key.definition.listed.map { (key, $0) } }
    .sorted { $0.fact.field < $1.fact.field }

  /// The fact of a key; nil if an index does not store it.
  package static func of(_ key: IntermediateDumpKey) -> ListedFact? { byKey[key] }

  private static let byKey = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0.fact) })
}
