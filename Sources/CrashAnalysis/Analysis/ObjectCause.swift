internal import ProcessSnapshot
internal import Stackwalk

/// An object that is evidence for the cause of a crash.
package enum ObjectCause: Sendable, Equatable {
  /// The object that an unowned reference outlived.
  case outlived(TypeName)
  /// The object whose class lacks the called method, or the method that runs.
  case withoutMethod(TypeName)
  /// The object to which a register points, and whose deinitializer is running.
  case beingDeinitialized(register: String, TypeName)
  /// The object to which a register points, and whose deinitializer has run.
  case deinitialized(register: String, TypeName)

  /// - Parameters:
  ///   - message: the message with which the process ended.
  ///   - frames: the frames of the crashed thread.
  ///   - words: the words of the crashed thread's registers and stack.
  /// - Returns: nil if no object is evidence for the cause, or if its type is not known.
  init?(
    of cause: Finding, message: String?, _ frames: [StackFrame], _ words: [NotedWord],
    _ objects: ObjectReader
  ) {
    let found: ObjectCause? =
      if cause.kind == SwiftFailure.unownedAfterFree.rawValue {
        Self.outlived(message, objects)
      } else if let address = cause.evidence.lazy.compactMap(\.objectWithoutMethod).first {
        objects.object(at: address)?.type.map { .withoutMethod($0) }
      } else if cause.isOfMemory {
        Self.deinitialized(frames, words)
      } else {
        nil
      }
    guard let found else { return nil }
    self = found
  }

  /// The object that an unowned reference outlived; nil if the object or its type is not known, or if the object's
  /// header does not show that the object was deinitialized.
  ///
  /// The object's header stays in memory as long as there are unowned references, so its type can still be found.
  private static func outlived(_ message: String?, _ objects: ObjectReader) -> ObjectCause? {
    guard let text = message,
      let digits = text.firstRange(of: "object 0x").map({ text[$0.upperBound...] }),
      let value = UInt64(digits.prefix(while: \.isHexDigit), radix: 16),
      let object = objects.object(at: Address(value)), let type = object.type,
      object.count.state == .deinitializing
    else { return nil }
    return .outlived(type)
  }

  /// An object whose deinitializer is running or has run; nil unless a register points to such an object, and the
  /// object's type is known.
  private static func deinitialized(
    _ frames: [StackFrame], _ words: [NotedWord]
  ) -> ObjectCause? {
    for word in words {
      guard case .register(let name) = word.place, let object = word.object,
        object.count.state == .deinitializing, let type = object.type
      else { continue }
      let isRunning = frames.contains {
        $0.linkageName?.hasSuffix("fD") == true || $0.linkageName?.hasSuffix("fd") == true
      }
      return isRunning
        ? .beingDeinitialized(register: name, type) : .deinitialized(register: name, type)
    }
    return nil
  }
}

extension Evidence {
  fileprivate var objectWithoutMethod: Address? {
    switch self {
    case .noMethod(let address), .foreignSelf(let address): address
    default: nil
    }
  }
}

extension Finding {
  /// True for causes that can result from the use of an invalid object, such as a faulting memory access.
  fileprivate var isOfMemory: Bool {
    switch cause {
    case .nullDereference, .nullCall, .impossibleAddress, .protectedMemory, .guardRegion,
      .mappedSince, .memoryTag,
      .unmappedMemory, .generalProtection, .trapInstruction, .illegalInstruction, .misalignedAccess,
      .misalignedVector:
      true
    default: false
    }
  }
}
