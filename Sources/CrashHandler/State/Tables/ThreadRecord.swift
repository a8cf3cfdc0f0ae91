internal import CSignalSafe

/// One record of the thread table, in memory that the capturing thread and the stopped thread share.
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadRecord {
  /// Whether the thread was sent a stop signal, and whether it has stopped.
  enum Status: UInt32 {
    /// The thread was found, but no signal was sent to it: not yet, or because it blocks every signal that could stop
    /// it, or because it must not be stopped.
    case running = 0
    /// The thread was sent a stop signal.
    case signalled = 1
    /// The thread has stopped; its context is in the record.
    case stopped = 2
    /// The thread also crashed, and waits in the handler; the context in the record is that of its crash.
    case alsoCrashed = 3
    /// The thread has ended since it was found.
    case gone = 4
    /// No signal could be sent to the thread yet: libc or a handler of this package blocks all its signals for a
    /// moment, or the kernel refused the signal.
    case closed = 5
    /// The thread has not stopped in time, for example in a system call that no signal interrupts, or it was sent no
    /// signal, because its stack has no room for a signal frame.
    case unresponsive = 6

    /// True if the thread waits in this package's handler, so that its context is in the record.
    var isStill: Bool {
      @_noLocks get {
        switch self {
        case .stopped, .alsoCrashed: true
        case .running, .signalled, .gone, .closed, .unresponsive: false
        }
      }
    }

    var isGone: Bool {
      @_noLocks get {
        if case .gone = self { true } else { false }
      }
    }
  }

  /// The header of a record; the thread's name and the text of its system call follow the header.
  struct Fields {
    /// The `Status` of the thread, which the thread itself changes too.
    fileprivate let status: UInt32
    fileprivate let threadID: Int32
    /// The context in the thread's signal frame; nil until the thread has stopped.
    var context: SignalContext?
    var threadPointer: UInt64 = 0
    /// The signals that the thread blocks; unless `knowsAllSignals` is true, only those below 32 are known.
    var blockedSignals: UInt64 = 0
    /// The thread's state letter as in proc(5), read before the thread was sent a signal; 0 if unknown.
    var stateLetter: UInt8 = 0
    /// True for a thread whose name begins with "iou-", as do the threads that the kernel creates for io_uring.
    ///
    /// A thread of io_uring runs no code of the program, and always blocks all signals except SIGKILL and SIGSTOP.
    var isKernelWorker = false
    fileprivate var nameLength: UInt8 = 0
    fileprivate var systemCallLength: UInt8 = 0
    fileprivate(set) var schedulingPolicy: UInt8 = 0
    fileprivate(set) var niceValue: Int8 = 0
    var knowsAllSignals = false

    fileprivate init(_ threadID: Int32) {
      status = 0
      self.threadID = threadID
    }
  }

  private static var nameOffset: Int { 48 }
  private static var systemCallOffset: Int { 112 }

  private let base: UnsafeMutableRawPointer

  @_noLocks
  init(base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  var fields: Fields {
    @_noLocks unsafeAddress { unsafe UnsafePointer(base.assumingMemoryBound(to: Fields.self)) }
    @_noLocks nonmutating unsafeMutableAddress {
      unsafe base.assumingMemoryBound(to: Fields.self)
    }
  }

  private var statusWord: FutexWord {
    @_noLocks get { unsafe FutexWord(base.assumingMemoryBound(to: UInt32.self)) }
  }

  var status: Status { @_noLocks get { Status(rawValue: statusWord.value) ?? .running } }

  @_noLocks
  func has(_ status: Status) -> Bool { statusWord.value == status.rawValue }

  @_noLocks
  func setStatus(_ status: Status) { statusWord.store(status.rawValue) }

  /// Sets the status, unless the thread itself has set another status meanwhile.
  @_noLocks
  func setStatus(_ status: Status, insteadOf expected: Status) {
    _ = statusWord.exchange(expected: expected.rawValue, desired: status.rawValue)
  }

  /// Stores the crash of this thread, which crashed while another thread was capturing and now waits.
  @_noLocks
  func setCrash(_ crash: ThreadEntries.Value) {
    fields.context = unsafe SignalContext(crash.address)
    fields.threadPointer = crash.threadPointer
    setStatus(.alsoCrashed)
  }

  var threadID: Int32 { @_noLocks get { fields.threadID } }

  /// True if the thread was waiting or stopped: its state letter was S, D, T or t.
  var isBlocked: Bool {
    @_noLocks get {
      let letter = fields.stateLetter
      return letter == 0x53 || letter == 0x44 || letter == 0x54 || letter == 0x74
    }
  }

  /// True if the thread has ended; this can be seen only for the process's first thread.
  ///
  /// The kernel keeps listing the first thread until the last thread ends.
  var hasEnded: Bool {
    @_noLocks get {
      let letter = fields.stateLetter
      return letter == 0x5A || letter == 0x58  // Z, X
    }
  }

  var name: Bytes {
    @_noLocks get {
      unsafe Bytes(base + ThreadRecord.nameOffset, count: Int(fields.nameLength))
    }
  }

  /// Stores the data that `/proc` shows for the thread.
  @inline(never) @_noLocks
  func set(_ line: ThreadLine) {
    let name = line.name.prefix(ThreadTable.nameCapacity)
    unsafe pm_copy_bytes(base + ThreadRecord.nameOffset, name.address, name.count)
    fields.nameLength = UInt8(truncatingIfNeeded: name.count)
    fields.isKernelWorker = line.name.text.matches("iou-")
    fields.stateLetter = line.stateLetter
    fields.blockedSignals = line.blockedSignals
    fields.knowsAllSignals = false
    fields.niceValue = line.niceValue
    fields.schedulingPolicy = line.schedulingPolicy
  }

  /// The thread's system call in the format of proc_pid_syscall(5), read before the thread was sent a signal; empty
  /// if unknown.
  var systemCall: Bytes {
    @_noLocks get {
      unsafe Bytes(base + ThreadRecord.systemCallOffset, count: Int(fields.systemCallLength))
    }
  }

  @_noLocks
  func setSystemCall(_ text: Bytes) {
    let count = text.count <= ThreadTable.systemCallCapacity ? text.count : 0
    unsafe pm_copy_bytes(base + ThreadRecord.systemCallOffset, text.address, count)
    fields.systemCallLength = UInt8(truncatingIfNeeded: count)
  }

  /// True if the stop signal interrupted the system call in `systemCall`, and not a later one.
  ///
  /// If the kernel will repeat the call after the signal handler, it has set the instruction pointer back to the
  /// call.
  @_noLocks
  func isInSystemCall(_ context: SignalContext) -> Bool {
    let place = SystemCallPlace(systemCall.text)
    return place.stackPointer == context.stackPointer
      && place.instructionPointer &- context.instructionPointer <= 4
  }

  @_noLocks
  func reset(threadID: Int32) {
    fields = Fields(threadID)
    setStatus(.running)
  }
}
