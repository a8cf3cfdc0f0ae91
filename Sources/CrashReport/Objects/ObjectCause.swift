internal import ProcessSnapshot
internal import Stackwalk

extension CrashReport {
  /// Sets `words` to the words of the crashed thread's registers and stack that point to objects or have a known
  /// pattern.
  ///
  /// Also sets `objectSentences` if one of the objects is evidence for the cause.
  mutating func noteWords(_ symbols: SymbolSource) {
    // For a crash, use the registers of the signal; for a dump without a crash, those of the thread that the dump is
    // about.
    guard
      let context = snapshot.exception?.context ?? threads.first(where: \.crashed)?.snapshot.context
    else { return }
    words = NotedWord.all(in: snapshot, context, symbols: symbols)
    guard snapshot.request == nil, snapshot.end == nil, let cause = verdict.cause else { return }
    let objects = ObjectReader(of: snapshot, symbols: symbols)
    if cause.kind == SwiftFailure.unownedAfterFree.rawValue {
      objectSentences = unownedSentence(objects).map { [$0] } ?? []
    } else if let address = cause.evidence.lazy.compactMap(\.objectWithoutMethod).first {
      objectSentences =
        objects.object(at: address)?.type.map { ["The object is \($0.withArticle)."] } ?? []
    } else if cause.isOfMemory {
      objectSentences = dyingSentence.map { [$0] } ?? []
    }
  }

  /// A sentence with the type of the object that an unowned reference outlived; nil if the object or its type is not
  /// known, or if the object's header does not show that the object was deinitialized.
  ///
  /// The object's header stays in memory as long as there are unowned references, so its type can still be found.
  private func unownedSentence(_ objects: ObjectReader) -> String? {
    guard let text = verdict.message,
      let digits = text.firstRange(of: "object 0x").map({ text[$0.upperBound...] }),
      let value = UInt64(digits.prefix(while: \.isHexDigit), radix: 16),
      let object = objects.object(at: Address(value)), let type = object.type,
      object.count.state == .deinitializing
    else { return nil }
    return "The object that the unowned reference outlived was \(type.withArticle)."
  }

  /// A sentence about an object whose deinitializer is running or has run; nil unless a register points to such an
  /// object, and the object's type is known.
  private var dyingSentence: String? {
    for word in words {
      guard case .register(let name) = word.place, let object = word.object,
        object.count.state == .deinitializing, let type = object.type
      else { continue }
      let isOwn = threads.first(where: \.crashed)?.frames.contains {
        $0.linkageName?.hasSuffix("fD") == true || $0.linkageName?.hasSuffix("fd") == true
      }
      return isOwn == true
        ? "\(name) points to \(type.withArticle) that is being deinitialized."
        : "\(name) points to \(type.withArticle) whose deinitializer has run: it was most likely used after its"
          + " last strong reference was gone."
    }
    return nil
  }
}

extension Evidence {
  fileprivate var objectWithoutMethod: Address? {
    if case .noMethod(let address) = self { address } else { nil }
  }
}

extension Finding {
  /// True for causes that can result from the use of an invalid object, such as a faulting memory access.
  fileprivate var isOfMemory: Bool {
    switch cause {
    case .nullDereference, .nullCall, .impossibleAddress, .protectedMemory, .guardRegion,
      .mappedSince, .memoryTag,
      .unmappedMemory, .generalProtection, .trapInstruction, .illegalInstruction, .misalignedAccess:
      true
    default: false
    }
  }
}
