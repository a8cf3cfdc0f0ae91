/// The evidence that the report's first thread is the thread that hung; the values of the key `hangThreadEvidence`.
public enum HangThreadEvidence: UInt8, DumpCode {
  /// The monitor watches the main queue and this is the main thread, or this thread gave the last heartbeat.
  case known = 1
  /// This thread was the last to answer the monitor, but another thread may have hung.
  case lastSeen = 2
  /// The hung thread is not known; the report's first thread is the monitor's own thread.
  case none = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
