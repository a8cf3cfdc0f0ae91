/// The evidence that the report's first thread is the thread that hung; the values of the key `hangThreadEvidence`.
public enum HangThreadEvidence: UInt8, DumpCode {
  /// No other thread can answer the monitor, or this thread was about to answer when it hung.
  case known = 1
  /// This thread was the last to answer the monitor, but another thread may have hung.
  case lastSeen = 2
  /// The hung thread is not known; the report's first thread is the monitor's own thread.
  case none = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
