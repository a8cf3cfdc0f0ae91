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

/// The scheduling policies of sched(7), with the kernel's numbers; the values of the key `schedulingPolicy`.
///
/// The handler writes the number that the kernel reports, so a dump may contain numbers without a case here.
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

/// The method by which a stored frame was found; part of the values of the key `threadFrames`.
package enum StoredTrust: UInt8, DumpCode {
  case context = 0
  case callFrameInformation = 1
  case signalFrame = 2
  case returnAddress = 3
  case framePointer = 4
  case scan = 5
  case afterGap = 6
  case asyncContext = 7
  case tailCall = 8

  package var word: String {
    switch self {
    case .context: "context"
    case .callFrameInformation: "call-frame-information"
    case .signalFrame: "signal-frame"
    case .returnAddress: "return-address"
    case .framePointer: "frame-pointer"
    case .scan: "scan"
    case .afterGap: "after-gap"
    case .asyncContext: "async-context"
    case .tailCall: "tail-call"
    }
  }
}

/// Why unwinding a stored stack ended; part of the values of the key `threadFrames`.
package enum StoredStackEnd: UInt8, DumpCode {
  case bottom = 0
  case lost = 1
  case limit = 2
  case noContext = 3

  package var word: String { self == .noContext ? "no context" : "\(self)" }
}

/// What a task of Swift concurrency does or waits for; part of the values of the key `allTasks`.
public enum TaskState: UInt8, DumpCode {
  /// A thread runs the task.
  case running = 1
  /// The task waits for a thread of the cooperative pool.
  case ready = 2
  /// The task waits for its turn on an actor or another serial executor.
  case awaitsActor = 3
  /// The task waits for the result of another task.
  case awaitsTask = 4
  /// The task waits for the next result of a task group.
  case awaitsGroup = 5
  /// The task waits until a continuation is resumed.
  case awaitsContinuation = 6
  /// The task is suspended, but the runtime has not recorded what the task waits for.
  case suspended = 7

  package var code: UInt64 { @_noLocks get { UInt64(rawValue) } }

  public var word: String {
    switch self {
    case .awaitsActor: "awaits-actor"
    case .awaitsTask: "awaits-task"
    case .awaitsGroup: "awaits-group"
    case .awaitsContinuation: "awaits-continuation"
    case .running, .ready, .suspended: "\(self)"
    }
  }
}
