internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

extension CrashReport {
  /// The value of the JSON key `inFlight`.
  func inFlightJSON(_ open: OpenContexts) -> JSONObject {
    [
      "count": open.count,
      "contexts": open.contexts.map { context -> JSONObject in
        [
          "ageNanoseconds": age(since: context.uptime),
          "work": context.work & (1 << 62 - 1),
          "nested": context.isNested,
          "values": context.values.map(\.json),
          "valuesOmitted": context.omittedCount,
        ]
      },
      "omitted": open.omittedCount,
      "nestedOmitted": open.nestedOmittedCount,
      "incomplete": open.incompleteCount,
    ]
  }
}

extension ContextRecord.Value {
  var json: JSONObject { ["name": name, "value": value, "cut": isCut] }
}
