internal import CrashAnalysis
internal import DumpInspection
internal import IntermediateDump
internal import ProcessSnapshot

// Facts that a report shows without separate code, because `IntermediateDumpKey+Definitions.swift` gives them a name or
// a label.

extension MapFields {
  /// Returns the facts that the report shows in one of its parts (`place`), each with its value; nil for an unknown
  /// value.
  func facts(
    of value: Value, in place: ReportNames.Place
  ) -> [(fact: ReportNames, value: ShownValue?)] {
    ReportNames.all(in: place).compactMap { key, fact in
      guard let shown = shown[key] else { return nil }
      let value = shown(value)
      if case .signed(let nanoseconds)? = value, key.kind == .time {
        return (fact, .text(Timestamp(nanoseconds: nanoseconds).description))
      }
      return (fact, value)
    }
  }

  /// The known facts that have a label, as fields with this label.
  func labeledFacts(of value: Value, in place: ReportNames.Place) -> [ReportField] {
    facts(of: value, in: place).compactMap { fact, value in
      guard let label = fact.label, let value else { return nil }
      return ReportField(name: label, value: value.text(fact.unit))
    }
  }
}

extension ShownValue {
  fileprivate func text(_ unit: ReportNames.Unit) -> String {
    switch (self, unit) {
    case (.unsigned(let number), .nanoseconds): Quantity.duration(Int64(clamping: number))
    case (.unsigned(let number), .plain): "\(number)"
    case (.signed(let number), .nanoseconds): Quantity.duration(number)
    case (.signed(let number), .plain): "\(number)"
    case (.address(let address), _): address.description
    case (.flag(let flag), _): "\(flag)"
    case (.text(let text), _): text
    case (.lines(let lines), _): lines.joined(separator: ", ")
    case (.members(let members), _):
      members.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ", ")
    }
  }
}
