/// The state of an annotation's value that may not be the last one that was set; the values of the key
/// `annotationState`.
public enum AnnotationState: UInt8, DumpCode {
  /// A newer value was being written when the process crashed; this is the previous one.
  case beingReplaced = 1
  /// A newer value was dropped, because several threads were writing at the same time.
  case stale = 2
  /// There was a value, but it changed faster than it could be read, or was overwritten.
  case unreadable = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .beingReplaced ? "being-replaced" : "\(self)" }
}
