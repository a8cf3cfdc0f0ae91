internal import Stackwalk

/// A kind of failed check or fatal error in Swift code, recognized by the message.
///
/// Source: swift stdlib/public/core and stdlib/public/runtime, the texts of fatal errors.
///
/// The Swift compiler uses the same words in the name of a trap (lib/IRGen, `Swift runtime failure: ...`).
package enum SwiftFailure: String, Sendable {
  case indexOutOfRange = "swift-index-out-of-range"
  case unwrappedNil = "swift-unwrapped-nil"
  case failedCast = "swift-failed-cast"
  case uncaughtError = "swift-uncaught-error"
  case unownedAfterFree = "swift-unowned-after-free"
  case exclusivity = "swift-exclusivity"
  case continuation = "swift-continuation"
  case actorIsolation = "swift-actor-isolation"
  case divisionByZero = "division-by-zero"
  case integerOverflow = "swift-integer-overflow"
  case precondition = "swift-precondition"
  case assertion = "swift-assertion"
  case outOfMemory = "out-of-memory"
  /// Any other message, such as one that the program passed to `fatalError`.
  case fatalError = "swift-fatal-error"

  /// Beginnings of messages, without the prefixes that `SwiftMessage` removes.
  private static let beginnings: [(words: String, failure: SwiftFailure)] = [
    ("index out of range", .indexOutOfRange),
    ("array index is out of range", .indexOutOfRange),
    ("negative array index", .indexOutOfRange),
    ("index out of bounds", .indexOutOfRange),
    ("string index is out of bounds", .indexOutOfRange),
    ("unexpectedly found nil", .unwrappedNil),
    ("could not cast value", .failedCast),
    ("type cast failed", .failedCast),
    ("error raised at top level", .uncaughtError),
    ("'try!' expression unexpectedly raised", .uncaughtError),
    ("unexpected error", .uncaughtError),
    ("attempted to read an unowned reference", .unownedAfterFree),
    ("fatal access conflict", .exclusivity),
    ("simultaneous accesses", .exclusivity),
    ("swift task continuation misuse", .continuation),
    ("incorrect actor executor", .actorIsolation),
    ("division by zero", .divisionByZero),
    ("arithmetic overflow", .integerOverflow),
    ("not enough bits to represent", .integerOverflow),
    ("negative value is not representable", .integerOverflow),
    ("precondition fail", .precondition),
    ("assertion fail", .assertion),
    ("failed to allocate", .outOfMemory),
  ]

  /// Classifies a message only by its beginning, because the rest may be any text of the program.
  ///
  /// The file, the line and "Fatal error: " may precede the text that is compared.
  init(message: String) {
    let words = SwiftMessage(message).words.prefix(64).lowercased()
    self = Self.beginnings.first { words.hasPrefix($0.words) }?.failure ?? .fatalError
  }

  /// The description of the failed check; nil unless the innermost frame is an inlined call of a function whose name
  /// begins with `FunctionName.trapPrefix`.
  static func trapMessage(of frames: [StackFrame]) -> String? {
    guard let frame = frames.first, frame.isInlined, let function = frame.function,
      function.hasPrefix(FunctionName.trapPrefix)
    else { return nil }
    return String(function.dropFirst(FunctionName.trapPrefix.count))
  }
}
