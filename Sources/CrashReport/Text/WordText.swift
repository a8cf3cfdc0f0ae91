internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

// Text about words that were involved in a fault. As in a `ReportSection`, the text is not escaped.

extension WordPattern {
  /// A few words that reports show next to a register with the pattern.
  package var words: String {
    switch self {
    case .leftOut: "left out of this report"
    case .swiftFreedObject: "written over freed objects by the Swift runtime"
    case .jemallocFreed: "jemalloc's fill of freed memory"
    case .jemallocNew: "jemalloc's fill of new memory"
    case .repeatedByte(let byte): "byte 0x\(byte.hexadecimal(digits: 2)) repeated: a fill of memory"
    case .spelledNumber(let number): "0x\(String(number, radix: 16)), a mark of memory not in use"
    case .text(let text): "text \"\(text)\""
    case .smallString(let count): "as of a Swift string of \(count) bytes"
    case .literalString(let address): "as of a Swift string with bytes at \(address)"
    case .smallNumber(let number): "\(number)"
    case .negative(let number): "\(number)"
    case .taggedAddress(let address, let tag):
      "\(address) with tag 0x\(tag.hexadecimal(digits: 2)), as of an enum's case"
    case .impossibleAddress: "not a possible address"
    }
  }

  /// A sentence that explains how a pointer may have received this value; nil for a pattern that does not explain the
  /// value.
  ///
  /// - Parameter subject: the value's name, such as "The address".
  func sentence(_ subject: String) -> String? {
    let freed = ": the pointer was most likely read from memory that had been freed."
    switch self {
    case .swiftFreedObject:
      return subject + " is what the Swift runtime writes over freed objects" + freed
    case .jemallocFreed:
      return subject + " is the byte 0x5a repeated, with which jemalloc fills freed memory" + freed
    case .jemallocNew:
      return subject
        + " is the byte 0xa5 repeated, with which jemalloc fills new memory: the pointer"
        + " was most likely never written."
    case .repeatedByte(let byte):
      return subject
        + " is the byte 0x\(byte.hexadecimal(digits: 2)) repeated, as MALLOC_PERTURB_ and"
        + " debug allocators fill memory: the pointer was most likely freed with its memory, or"
        + " never written."
    case .spelledNumber(let number):
      return subject
        + " is made of 0x\(String(number, radix: 16)), a mark for memory that is not in"
        + " use."
    case .text(let text):
      return subject
        + " is the text \"\(text)\": the pointer was most likely overwritten by a string."
    default: return nil
    }
  }
}

extension Evidence {
  /// The sentences about the evidence that `wordEvidence(of:)` finds; empty for other evidence.
  var wordSentences: [String] {
    switch self {
    case .pattern(let pattern, let register, let offset):
      let minus = offset > 0 ? " minus \(offset)" : ""
      return [pattern.sentence("The " + (register.map { "value of \($0)" } ?? "address") + minus)]
        .compactMap(\.self)
    case .countedNoObject(let function, let address):
      return [
        "\(function) was called on \(address), which is not a Swift object: the reference was overwritten,"
          + " never written, or used after its object was freed."
      ]
    case .countedNoValue(let function, let address):
      return [
        "\(function) was called on \(address), which is not a Swift object: a case of an enum that holds no"
          + " object has such a value, and was most likely used as if it held one."
      ]
    case .countedFreedObject(let address):
      return [
        "The Swift runtime counted the references of the object at \(address), whose memory had been freed: it"
          + " was most likely released too often, or used after it was freed."
      ]
    case .usedFreedMemory(let register, let address):
      let place = register.map { "\($0) points to" } ?? "a pointer on the stack leads to"
      return [
        "The address was computed from the first word of the memory at \(address), which \(place)."
          + " That memory had been freed: an object was most likely used after it was freed."
      ]
    case .noDeinitializer(let address):
      return [
        "The Swift runtime was to deinitialize \(address.map { "the object at \($0)" } ?? "an object"), but its"
          + " first word leads to no"
          + " deinitializer: the object was most likely released too often, or overwritten."
      ]
    case .noMethod(let address):
      return [
        "It was to be a method of the object at \(address), but the object's class has no such method: the object"
          + " is of another class than the code expects."
      ]
    case .foreignSelf(let address):
      return [
        "The method most likely ran on the object at \(address), which is of another class than the method's: it was"
          + " taken for another object, or the memory of a freed object was used again."
      ]
    case .nullBase(let register, _):
      return [
        "\(register) is null: an optional, or a case of an enum, that holds nothing was most likely used"
          + " as if it held an object."
      ]
    case .handledFirst(let handler):
      return [
        "It was handled first by \(handler ?? "another handler"), which raised the signal again."
      ]
    default: return []
    }
  }
}
