package import IntermediateDump

/// The parts of a report that show a fact unchanged, and the names of the fact in these parts.
///
/// If `mapFields` binds the fact's key, reports (JSON, text and page) contain the fact as soon as its row in
/// `IntermediateDumpKey+Definitions.swift` has these names. `Docs/Reference/ReportFields.md` then needs a line, and
/// `UPDATE_DOCUMENTS=1 swift test --filter SchemaTests` writes the fact into the JSON schema.
package struct ReportNames: Sendable {
  /// A part of a report; the raw value is the name of its definition in `Docs/Reference/ReportSchema.json`.
  package enum Place: String, CaseIterable, Sendable {
    case process, system, resources, thread, exception, capture, survival, request, end, client,
      annotation, breadcrumb,
      context, attachment, descriptor
    /// The whole report, which the JSON schema describes at its root and not in a definition.
    case report = ""
  }

  package enum Unit: Sendable {
    case plain, nanoseconds
  }

  package let places: [Place]
  /// The fact's name in the JSON form of a report.
  package let name: String
  /// The fact's label in the text and HTML forms of a report; nil if these forms show the fact without this label.
  package let label: String?
  package let unit: Unit

  /// The keys that a part of a report shows, with their facts, in the order of the keys.
  package static func all(in place: Place) -> [(key: IntermediateDumpKey, fact: ReportNames)] {
    byPlace[place] ?? []
  }

  private static let byPlace: [Place: [(key: IntermediateDumpKey, fact: ReportNames)]] =
    IntermediateDumpKey.allCases.reduce(into: [:]) { facts, key in
      guard let fact = key.definition.fact else { return }
      for place in fact.places { facts[place, default: []].append((key, fact)) }
    }
}
