/// Where a thread's registers come from, most reliable source first; the values of the key `captureMethod`.
public enum CaptureMethod: UInt8, DumpCode {
  /// The thread received the crash signal, and its registers come from the signal's context; or the thread itself took
  /// a dump without a crash.
  case crashed = 1
  /// A signal from the handler stopped the thread, and the registers were read while it was stopped.
  case stopped = 2
  /// The thread also crashed, and was waiting in the handler; its registers come from that crash's signal context.
  case alsoCrashed = 3
  /// The thread did not stop; its stack pointer and instruction pointer come from `/proc/self/task/<tid>/syscall`.
  ///
  /// These values are valid as long as the thread stays blocked.
  case kernel = 4
  /// The thread did not stop and could not be read; its registers and its stack are not known.
  case none = 5

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}
