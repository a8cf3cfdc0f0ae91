internal import CrashAnalysis
internal import DumpInspection
internal import IntermediateDump
internal import ProcessSnapshot

// The JSON of facts that a report shows without separate code.

extension ShownValue: JSONValue {
  package func write(to json: inout JSONWriter) {
    switch self {
    case .unsigned(let number): number.write(to: &json)
    case .signed(let number): number.write(to: &json)
    case .address(let address): address.description.write(to: &json)
    case .flag(let flag): flag.write(to: &json)
    case .text(let text): text.write(to: &json)
    case .lines(let lines): lines.write(to: &json)
    case .members(let members): members.write(to: &json)
    }
  }
}

extension JSONObject {
  /// Creates an object from the facts of `value` that the report shows at `place`, and from the members of `others`.
  init<Value>(
    _ place: ReportNames.Place, _ fields: MapFields<Value>, of value: Value,
    _ others: JSONObject = [:]
  ) {
    let facts = fields.facts(of: value, in: place)
    self = others.adding(members: facts.map { (name: $0.fact.name, value: $0.value) })
  }
}
