/// The evidence that the first thread is the one that hung; the values of the key `hangThreadEvidence`.
public enum HangThreadEvidence: UInt8, DumpCode {
  /// It is the only one that can answer, or was at it when it hung.
  case known = 1
  /// It answered last; another one may have hung.
  case lastSeen = 2
  /// It is not known; the first thread is the monitor's own.
  case none = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String { self == .lastSeen ? "last-seen" : "\(self)" }
}
