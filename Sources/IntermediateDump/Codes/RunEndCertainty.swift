/// The certainty of such a verdict; the values of the key `runEndCertainty`.
public enum RunEndCertainty: UInt8, DumpCode, Comparable {
  /// The evidence allows one explanation among others.
  case possible = 1
  /// The evidence fits nothing else well.
  case likely = 2
  /// The kernel says so.
  case certain = 3

  public static func < (left: RunEndCertainty, right: RunEndCertainty) -> Bool {
    left.rawValue < right.rawValue
  }
}
