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
    let stacks =
      snapshot.threads.compactMap { thread in
        (thread.context?.stackPointer ?? thread.stackPointer).flatMap(snapshot.mapping)?.range
      } + snapshot.tasks.flatMap { $0.slabs(in: snapshot.memory) }
    self.init(
      reader, showsContents: snapshot.process.privacy ?? .full == .full, stacks: stacks)
  }
}
