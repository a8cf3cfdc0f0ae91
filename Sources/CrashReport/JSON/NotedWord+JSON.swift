internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

extension NotedWord {
  /// The word as an element of `words[]` in the JSON.
  var json: JSONObject {
    let object = object
    var pattern: WordPattern?
    if case .pattern(let found) = meaning { pattern = found }
    return [
      "place": placeText,
      "value": value.description,
      "text": words,
      "pattern": pattern?.kind,
      "object": object.map { object -> JSONObject in
        [
          "kind": object.kind.rawValue,
          "type": object.type?.qualified,
          "certainty": (object.isCertain ? FindingCertainty.certain : .likely).word,
          "state": object.count.state.rawValue,
          "strong": object.count.strong > 0 ? object.count.strong : nil,
          "unowned": object.count.isCounted ? object.count.unowned : nil,
          "sideTable": object.count.hasSideTable,
          "size": object.size,
          "text": object.text,
          "captures": object.captures.map(\.qualified),
          "bytes": object.firstBytes.isEmpty
            ? nil : object.firstBytes.map { $0.hexadecimal(digits: 2) }.joined(),
          "elements": object.elements,
        ]
      },
    ]
  }
}
