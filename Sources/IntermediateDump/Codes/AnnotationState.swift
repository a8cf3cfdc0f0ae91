/// Why a dump may lack the value that an annotation was last set to; the values of the key `annotationState`.
public enum AnnotationState: UInt8, DumpCode {
  /// A newer value was being written when the process crashed; the dump contains the previous value.
  case beingReplaced = 1
  /// A newer value was dropped, because several threads were setting the annotation at the same time.
  case stale = 2
  /// The annotation had a value, but the value changed faster than it could be read, or other data overwrote it.
  case unreadable = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
