/// The evidence that the report's first thread is the thread that hung; the values of the key `hangThreadEvidence`.
public enum HangThreadEvidence: UInt8, DumpCode {
  /// The thread is the only thread that can answer the monitor, or was about to answer when it hung.
  case known = 1
  /// The thread was the last thread that answered the monitor, but another thread may have hung.
  case lastSeen = 2
  /// The thread is not known; the first thread is the thread of the monitor.
  case none = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
