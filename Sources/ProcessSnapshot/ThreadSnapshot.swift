/// One thread at the moment of the crash.
public struct ThreadSnapshot: Sendable, Equatable {
  /// How a thread's registers were had, best first.
  public enum CaptureMethod: UInt8, Sendable {
    /// The thread that took the signal: from the signal's own context.
    case crashed = 1
    /// Stopped by a signal of ours and read while it stood still.
    case stopped = 2
    /// Crashed too, at the same time, and was waiting in the handler: from its own signal's
    /// context.
    case alsoCrashed = 3
    /// Did not stop; stack and instruction pointer from `/proc/self/task/<tid>/syscall`, true while
    /// it stays blocked.
    case kernel = 4
    /// Did not stop and could not be read: name and state only.
    case none = 5

    /// The word that reports print.
    public var name: String {
      switch self {
      case .crashed: "crash"
      case .stopped: "stopped"
      case .alsoCrashed: "also-crashed"
      case .kernel: "kernel"
      case .none: "none"
      }
    }
  }

  /// The kernel's thread ID.
  public var id: UInt32
  public var name: String?
  /// The state letter of proc(5), before the thread was stopped: R running, S sleeping, D in the
  /// kernel, T stopped.
  public var state: Character?
  public var captureMethod: CaptureMethod?
  /// Nil unless the thread was stopped: a thread read through the kernel has `stackPointer` and
  /// `instructionPointer` only.
  public var context: CPUContext?
  /// The thread control block, `fs` base on x86_64 and `tpidr_el0` on arm64.
  public var threadPointer: Address?
  public var stackPointer: Address?
  public var instructionPointer: Address?
  /// Bit n - 1 stands for signal n.
  public var blockedSignals: UInt64?
  /// As sched_getscheduler(2): 0 other, 1 FIFO, 2 round robin, 3 batch, 5 idle.
  public var schedulingPolicy: UInt8?
  /// As getpriority(2): -20 to 19.
  public var niceValue: Int32?
  /// proc_pid_syscall(5) of a thread that was blocked before it was asked to stop.
  public var systemCall: String?
  /// The mapping that the stack pointer was in, or the next readable one above it.
  public var stackRange: AddressRange?
  /// What was captured of it; the bytes are in the snapshot's `memory` too.
  public var stack: [MemoryRegion] = []
  /// Bytes between stack pointer and the stack's end that a cap or a fault left out.
  public var stackBytesOmitted: UInt64 = 0

  public init(id: UInt32) {
    self.id = id
  }

  /// The number of the system call that the thread was blocked in; nil where it was in none or the
  /// kernel did not tell.
  ///
  /// Source: proc_pid_syscall(5): `-1` for a thread that is blocked but not in a system call,
  /// `running` for one that is not blocked.
  public var systemCallNumber: Int? {
    guard let word = systemCall?.split(separator: " ").first, let number = Int(word), number >= 0
    else { return nil }
    return number
  }
}
