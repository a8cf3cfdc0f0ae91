package import IntermediateDump

/// The names that the index of a database and an export give to a fact of a dump.
///
/// To make the index store a fact, add these names to the fact's row in `IntermediateDumpKey+Definitions.swift`. To
/// make exports contain the fact, also add it to `ExportColumn.all` and `OTLPLine`.
package struct IndexNames: Sendable {
  /// A column of `postmortem export`.
  package struct Column: Sendable {
    package enum Kind: Sendable {
      case text
      /// The column's values are texts from a small set.
      case word
      case integer
      case bytes
      /// The column's values are numbers of nanoseconds, which are exported as seconds.
      case seconds
    }

    package let name: String
    package let kind: Kind
    /// The description of the column in the documentation: one sentence without a final period.
    package let meaning: String
  }

  /// The number of the field in a record of the index: below 32 for a number, otherwise for a text.
  ///
  /// This number is never changed or reused, because indexes that were written earlier contain it.
  package let field: UInt8
  /// The fact's column in `postmortem export`; nil if the fact has none.
  package let column: Column?
  /// The name of the fact's attribute in an export as OTLP; nil if the fact has none there.
  package let attribute: String?

  /// All facts that dumps contain and an index stores, with their keys, in the order of their fields.
  package static let all: [(key: IntermediateDumpKey, fact: IndexNames)] =
    IntermediateDumpKey.allCases.compactMap { key in key.definition.listed.map { (key, $0) } }
    .sorted { $0.fact.field < $1.fact.field }

  /// The listed fact of a key; nil if an index does not store it.
  package static func of(_ key: IntermediateDumpKey) -> IndexNames? { byKey[key] }

  private static let byKey = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0.fact) })
}
