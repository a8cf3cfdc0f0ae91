/// The kind of the part of the program that hung; the values of the key `hangTarget`.
public enum HangTarget: UInt8, DumpCode {
  case mainThread = 1
  /// A Dispatch queue.
  case queue = 2
  case executor = 3
  case heartbeat = 4

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
