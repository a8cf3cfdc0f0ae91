/// The source of a thread's registers, best first; the values of the key `captureMethod`.
public enum CaptureMethod: UInt8, DumpCode {
  /// The thread that took the signal: from the signal's own context.
  case crashed = 1
  /// Stopped by a signal of ours and read while it stood still.
  case stopped = 2
  /// Crashed too, at the same time, and was waiting in the handler: from its own signal's context.
  case alsoCrashed = 3
  /// Did not stop; stack and instruction pointer from `/proc/self/task/<tid>/syscall`, true while it
  /// stays blocked.
  case kernel = 4
  /// Did not stop and could not be read: name and state only.
  case none = 5

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String {
    switch self {
    case .crashed: "crash"
    case .stopped: "stopped"
    case .alsoCrashed: "also-crashed"
    case .kernel: "kernel"
    case .none: "none"
    }
  }
}

/// The evidence for the system call that a thread was blocked in; the values of the key `systemCallSource`.
///
/// 1.0.0 wrote `registers` and `code`; later handlers write none.
public enum SystemCallSource: UInt8, DumpCode {
  /// `/proc/self/task/<tid>/syscall`.
  case kernel = 1
  /// The registers of a thread that was stopped in it, and was about to make it again.
  case registers = 2
  /// Inferred: the code in front of the place where a thread was stopped makes this call.
  case code = 3

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }
}

/// The policies of sched(7), by the kernel's numbers; the values of the key `schedulingPolicy`.
///
/// The handler writes what the kernel says, so that a dump can hold others.
///
/// Source: Linux include/uapi/linux/sched.h.
public enum SchedulingPolicy: UInt8, DumpCode {
  case other = 0
  case fifo = 1
  case roundRobin = 2
  case batch = 3
  case idle = 5
  case deadline = 6
  case ext = 7

  public var word: String { self == .roundRobin ? "rr" : "\(self)" }
}
