internal import DumpInspection
internal import IntermediateDump
internal import ProcessSnapshot

// The facts that a report shows by their rows in the schema alone.

extension MapFields {
  /// The facts of a place; of each key that this type binds, the value or nil.
  func facts(
    of value: Value, in place: ReportFact.Place
  ) -> [(fact: ReportFact, value: ShownValue?)] {
    ReportFact.all(in: place).compactMap { key, fact in
      keysShown.contains(key) ? (fact, shown(key, of: value)) : nil
    }
  }

  /// The known facts that have a label, under it.
  func labeledFacts(of value: Value, in place: ReportFact.Place) -> [ReportField] {
    facts(of: value, in: place).compactMap { fact, value in
      guard let label = fact.label, let value else { return nil }
      return ReportField(name: label, value: value.text(fact.unit))
    }
  }
}

extension ShownValue: JSONValue {
  package func write(to json: inout JSONWriter) {
    switch self {
    case .unsigned(let number): number.write(to: &json)
    case .signed(let number): number.write(to: &json)
    case .text(let text): text.write(to: &json)
    }
  }

  fileprivate func text(_ unit: ReportFact.Unit) -> String {
    switch (self, unit) {
    case (.unsigned(let number), .nanoseconds): Quantity.duration(Int64(clamping: number))
    case (.unsigned(let number), .plain): "\(number)"
    case (.signed(let number), .nanoseconds): Quantity.duration(number)
    case (.signed(let number), .plain): "\(number)"
    case (.text(let text), _): text
    }
  }
}

extension JSONObject {
  /// Adds the facts of a place.
  func adding(_ facts: [(fact: ReportFact, value: ShownValue?)]) -> JSONObject {
    adding(members: facts.map { (name: $0.fact.name, value: $0.value) })
  }
}
