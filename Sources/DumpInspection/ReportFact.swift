package import IntermediateDump

/// The places and the names of a fact that a report shows unchanged.
///
/// JSON, its schema, text and page show such a fact from its row, without other code.
package struct ReportFact: Sendable {
  /// A part of a report; the raw value is its definition in `Docs/Reference/ReportSchema.json`.
  package enum Place: String, CaseIterable, Sendable {
    case process, system, resources, thread, exception, capture, survival, request, end, client,
      annotation, breadcrumb,
      context, attachment, descriptor
    /// The report itself, which is not a definition.
    case report = ""
  }

  package enum Unit: Sendable {
    case plain, nanoseconds
  }

  package let places: [Place]
  /// The name in JSON.
  package let name: String
  /// The label in text and page; nil if they show the fact with other text.
  package let label: String?
  package let unit: Unit

  /// The keys of a place with their facts, in the order of the keys.
  package static func all(in place: Place) -> [(key: IntermediateDumpKey, fact: ReportFact)] {
    byPlace[place] ?? []
  }

  private static let byPlace: [Place: [(key: IntermediateDumpKey, fact: ReportFact)]] =
    IntermediateDumpKey.allCases.reduce(into: [:]) { facts, key in
      guard let fact = key.definition.fact else { return }
      for place in fact.places { facts[place, default: []].append((key, fact)) }
    }
}
