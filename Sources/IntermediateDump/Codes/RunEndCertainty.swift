/// How certain the explanation of a process's end is; the values of the key `runEndCertainty`.
public enum RunEndCertainty: UInt8, DumpCode, Comparable {
  /// The evidence fits this explanation, but also fits others.
  case possible = 1
  /// No other explanation fits the evidence well.
  case likely = 2
  /// The kernel reports this end, or the process itself shows it, for example by starting a handler after `exec`.
  case certain = 3

  public static func < (left: RunEndCertainty, right: RunEndCertainty) -> Bool {
    left.rawValue < right.rawValue
  }
}
