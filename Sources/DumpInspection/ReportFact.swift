package import IntermediateDump

/// The place and the names of a fact that a report shows unchanged.
///
/// JSON, its schema, text and page show such a fact from its row, without other code.
package struct ReportFact: Sendable {
  /// A part of a report; the raw value is its definition in `Docs/Reference/ReportSchema.json`.
  package enum Place: String, CaseIterable, Sendable {
    case process, system, resources, thread
  }

  package enum Unit: Sendable {
    case plain, nanoseconds
  }

  package let place: Place
  /// In JSON.
  package let name: String
  /// The label in text and page; nil if they show the fact in their own words.
  package let label: String?
  package let unit: Unit

  /// The keys of a place with their facts, in the order of the keys.
  package static func all(in place: Place) -> [(key: IntermediateDumpKey, fact: ReportFact)] {
    byPlace[place] ?? []
  }

  /// The fact of a key; nil if the report has its own code for it, or does not show it.
  package static func of(_ key: IntermediateDumpKey) -> ReportFact? { byKey[key] }

  private static let byKey: [IntermediateDumpKey: ReportFact] = Dictionary(
    uniqueKeysWithValues: IntermediateDumpKey.allCases.compactMap { key in
      key.definition.fact.map { (key, $0) }
    })

  private static let byPlace = Dictionary(
    grouping: IntermediateDumpKey.allCases.compactMap { key in
      byKey[key].map { (key: key, fact: $0) }
    }, by: \.fact.place)
}
