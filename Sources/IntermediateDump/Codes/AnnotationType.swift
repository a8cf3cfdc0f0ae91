/// The type of an annotation's value; the values of the key `annotationType`.
public enum AnnotationType: UInt8, DumpCode {
  case text = 1
  case signed = 2
  case unsigned = 3
  /// A 64-bit IEEE 754 number.
  case double = 4
  /// A number that stands for a Boolean value; 0 means false, and any other number means true.
  case bool = 5

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
