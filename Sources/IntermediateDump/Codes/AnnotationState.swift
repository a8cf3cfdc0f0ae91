/// The state of an annotation's value that is not simply the last one; the values of the key `annotationState`.
public enum AnnotationState: UInt8, DumpCode {
  /// A newer value was being written when the process crashed; this is the previous one.
  case beingReplaced = 1
  /// A newer one was given up, because several threads were in the middle of writing.
  case stale = 2
  /// There was one, but it changed faster than it could be read, or was written over.
  case unreadable = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .beingReplaced ? "being-replaced" : "\(self)" }
}
