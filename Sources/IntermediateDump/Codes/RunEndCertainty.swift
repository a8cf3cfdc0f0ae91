/// The certainty of the verdict on how a run ended; the values of the key `runEndCertainty`.
public enum RunEndCertainty: UInt8, DumpCode, Comparable {
  /// The evidence allows one explanation among others.
  case possible = 1
  /// No other explanation fits the evidence well.
  case likely = 2
  /// The kernel reports it.
  case certain = 3

  public static func < (left: RunEndCertainty, right: RunEndCertainty) -> Bool {
    left.rawValue < right.rawValue
  }
}
