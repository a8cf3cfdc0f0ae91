internal import IntermediateDump
package import ProcessSnapshot
internal import Stackwalk

/// A word with a known meaning, in a register or on the stack of the crashed thread.
package struct NotedWord: Sendable, Equatable {
  package enum Meaning: Sendable, Equatable {
    /// The word points to the start of an object.
    case object(SwiftObject)
    case pattern(WordPattern)
  }

  package enum Place: Sendable, Equatable {
    case register(String)
    /// The word is on the stack, at this number of bytes above the stack pointer.
    case stack(UInt64)
  }

  package var place: Place
  package var value: Address
  package var meaning: Meaning

  package var object: SwiftObject? {
    if case .object(let object) = meaning { object } else { nil }
  }

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

extension NotedWord {
  /// The number of bytes of the stack, from the stack pointer up, that are searched for pointers to objects.
  package static let stackSize: UInt64 = 4096

  /// The aligned words in the `stackSize` bytes above the stack pointer, as far as the dump contains them, innermost
  /// first.
  static func stackWords(
    in snapshot: ProcessSnapshot, _ context: CPUContext
  ) -> [(place: Address, word: UInt64)] {
    let start = context.stackPointer.alignedDown(to: 8)
    return stride(from: UInt64(0), to: stackSize, by: 8).compactMap { offset in
      snapshot.memory.word(at: start &+ offset).map { (start &+ offset, $0) }
    }
  }

  /// Finds the registers that point to objects or hold a known pattern, and the pointers to objects on the stack.
  ///
  /// - Parameters:
  ///   - snapshot: the crashed process, with its captured memory.
  ///   - context: the registers of the crashed thread.
  ///   - symbols: opens modules' files; nil to read only the dump's memory.
  static func all(
    in snapshot: ProcessSnapshot, _ context: CPUContext, symbols: SymbolSource?
  ) -> [NotedWord] {
    let objects = ObjectReader(of: snapshot, symbols: symbols)
    var known: [UInt64: SwiftObject?] = [:]
    func object(at value: UInt64) -> SwiftObject? {
      if let answer = known[value] { return answer }
      let answer = objects.object(at: Address(value)).flatMap { $0.isNoise ? nil : $0 }
      known[value] = .some(answer)
      return answer
    }
    var words: [NotedWord] = []
    let special: Set = ["rip", "pc", "rsp", "sp", "eflags", "rflags", "cpsr", "pstate"]
    for register in context.generalRegisters where !special.contains(register.name) {
      // In a sanitized report, the values of most registers have been replaced; these registers are skipped.
      guard register.value != IntermediateDumpFormat.replacedWord else { continue }
      let meaning =
        object(at: register.value).map(Meaning.object)
        ?? WordPattern(register.value, snapshot.architecture).map(Meaning.pattern)
      if let meaning {
        words.append(
          NotedWord(
            place: .register(register.name), value: Address(register.value), meaning: meaning))
      }
    }
    for (place, word) in stackWords(in: snapshot, context) {
      guard let found = object(at: word) else { continue }
      words.append(
        NotedWord(
          place: .stack(place.distance(above: context.stackPointer) ?? 0), value: Address(word),
          meaning: .object(found)))
    }
    return words
  }
}

extension ObjectReader {
  init(of snapshot: ProcessSnapshot, symbols: SymbolSource?) {
    let reader = ProcessReader(
      memory: { snapshot.memory.bytes(at: $0, count: $1) },
      constants: { address, count in
        guard let module = snapshot.module(containing: address) else { return nil }
        return symbols?.constants(at: address, count: count, in: module)?[...]
      })
    let stacks = snapshot.threads.compactMap { thread in
      (thread.context?.stackPointer ?? thread.stackPointer).flatMap(snapshot.mapping)?.range
    }
    self.init(
      reader, showsContents: snapshot.process.privacy ?? .full == .full, stacks: stacks)
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
