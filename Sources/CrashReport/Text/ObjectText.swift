internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

// Text about Swift objects. As in a `ReportSection`, the text is not escaped.

extension TypeName {
  /// The short name in a sentence, for example "a Basket<Int>" or "an Item".
  var withArticle: String {
    let isVowel = short.first.map { "AEIOaeio".contains($0) } ?? false
    return (isVowel ? "an " : "a ") + short
  }
}

extension ReferenceCount {
  /// The counts as text, for example "strong 2, unowned 1".
  package var text: String {
    switch state {
    case .immortal: return "immortal"
    case .leftOut: return "counts left out"
    case .deinitializing:
      return "being deinitialized" + (unowned > 0 ? ", unowned \(unowned)" : "")
    case .alive:
      guard strong > 0 else { return "counts in a side table" }
      return "strong \(strong)" + (unowned > 0 ? ", unowned \(unowned)" : "")
        + (hasSideTable ? ", side table" : "")
    }
  }
}

extension SwiftObject {
  /// A short description, for example "Basket (strong 2)".
  package var words: String {
    let name = type?.short
    let what =
      switch kind {
      case .object: (isCertain ? "" : "looks like ") + (name ?? "object")
      case .error: "error " + (name ?? "of an unknown type")
      case .closure:
        "captured variables" + (captures.isEmpty ? "" : " ")
          + captures.map(\.short).joined(separator: ", ")
      case .box: "box of " + (name ?? "an unknown type")
      case .task: "task"
      }
    let isOfBytes = ["StringStorage", "__DataStorage"].contains { name?.hasSuffix($0) == true }
    let unit = text == nil && !isOfBytes ? "elements" : "bytes"
    let more = size.map { $0 > UInt64(elements.count) } == true ? ", ..." : ""
    let list = elements.isEmpty ? "" : " [" + elements.joined(separator: ", ") + more + "]"
    let facts = [count.text] + (size.map { ["\($0) \(unit)"] } ?? [])
    return what + " (" + facts.joined(separator: ", ") + ")" + (text.map { " \"\($0)\"" } ?? "")
      + firstBytes.map { " " + $0.hexadecimal(digits: 2) }.joined() + list
  }
}

extension NotedWord {
  package var words: String {
    switch meaning {
    case .object(let object): object.words
    case .pattern(let pattern): pattern.words
    }
  }

  /// The place as text, for example "rdi" or "sp+0x18".
  package var placeText: String {
    switch place {
    case .register(let name): name
    case .stack(let offset): "sp+\(Address(offset))"
    }
  }
}

extension ObjectCause {
  /// A sentence about the object.
  var sentence: String {
    switch self {
    case .outlived(let type):
      "The object that the unowned reference outlived was \(type.withArticle)."
    case .withoutMethod(let type): "The object is \(type.withArticle)."
    case .beingDeinitialized(let register, let type):
      "\(register) points to \(type.withArticle) that is being deinitialized."
    case .deinitialized(let register, let type):
      "\(register) points to \(type.withArticle) whose deinitializer has run: it was most likely used after its"
        + " last strong reference was gone."
    }
  }
}

extension CrashReport {
  /// The object to which a register of the crashed thread points, or the pattern that the register contains; nil if
  /// neither is known.
  func word(inRegister name: String) -> NotedWord? {
    words.first { $0.place == .register(name) }
  }

  /// The maximum number of objects on the stack that a short report shows.
  private static let fewObjects = 12

  /// The objects to which words near the top of the crashed thread's stack point; each object is listed once.
  func stackObjectSection(isFull: Bool) -> ReportSection? {
    var seen: Set<Address> = []
    let found = words.filter { word in
      guard case .stack = word.place, word.object != nil else { return false }
      return seen.insert(word.value).inserted
    }
    let shown = found.prefix(isFull ? .max : Self.fewObjects)
    let more = found.count > shown.count ? " (\(found.count - shown.count) more: --full)" : ""
    return ReportSection(
      "Objects that the stack points to" + more,
      rows: shown.map { word in
        .field(
          ReportField(name: word.placeText, value: "\(word.value.padded)  \(word.words)"))
      })
  }
}
