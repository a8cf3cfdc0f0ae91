internal import CSignalSafe

/// One record of the thread table, at a fixed layout in raw memory.
///
/// Layout: status 0 (4), thread ID 4 (4), context 8, thread pointer 16, blocked signals 24, state
/// letter 32 (1), worker of the kernel 33 (1), name length 34 (1), system call's length 35 (1), name
/// 40 (64), system call 104 (192).
///
/// RUNS-DURING-CRASH.
@safe
struct ThreadRecord {
  /// What is known of the thread's stop.
  enum Status: UInt32 {
    /// Found, and not asked to stop: it blocks every signal that could, or is not to be stopped.
    case running = 0
    /// Asked to stop.
    case signalled = 1
    /// Stands still; its context is in the record.
    case stopped = 2
    /// Was waiting in the handler with a crash of its own; its context is that crash's.
    case alsoCrashed = 3
    /// Has ended since it was found.
    case gone = 4
    /// Could not be asked yet: libc keeps every signal from it, for a moment, or the kernel refused
    /// the signal.
    case closed = 5
    /// Was asked, and has not stopped in time: it may be in a call that no signal ends.
    case unresponsive = 6

    /// True if the thread's context is in the record.
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

  private let base: UnsafeMutableRawPointer

  @_noLocks
  init(base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  private var statusWord: FutexWord {
    @_noLocks get { unsafe FutexWord(base.assumingMemoryBound(to: UInt32.self)) }
  }

  var status: Status { @_noLocks get { Status(rawValue: statusWord.value) ?? .running } }

  @_noLocks
  func has(_ status: Status) -> Bool { statusWord.value == status.rawValue }

  @_noLocks
  func setStatus(_ status: Status) { statusWord.store(status.rawValue) }

  /// Sets it unless the thread itself has set another meanwhile.
  @_noLocks
  func setStatus(_ status: Status, insteadOf expected: Status) {
    _ = statusWord.exchange(expected: expected.rawValue, desired: status.rawValue)
  }

  /// A thread that crashed too and waits: where it did.
  @_noLocks
  func setCrash(_ crash: WaitingCrashes.Crash) {
    context = crash.context
    threadPointer = crash.threadPointer
    setStatus(.alsoCrashed)
  }

  var threadID: Int32 {
    @_noLocks get { unsafe base.loadUnaligned(fromByteOffset: 4, as: Int32.self) }
  }

  /// The thread's ucontext_t, on its own stack; 0 until it has stopped.
  var context: UInt64 {
    @_noLocks get { unsafe base.loadUnaligned(fromByteOffset: 8, as: UInt64.self) }
    @_noLocks nonmutating set {
      unsafe base.storeBytes(of: newValue, toByteOffset: 8, as: UInt64.self)
    }
  }

  var threadPointer: UInt64 {
    @_noLocks get { unsafe base.loadUnaligned(fromByteOffset: 16, as: UInt64.self) }
    @_noLocks nonmutating set {
      unsafe base.storeBytes(of: newValue, toByteOffset: 16, as: UInt64.self)
    }
  }

  var blockedSignals: UInt64 {
    @_noLocks get { unsafe base.loadUnaligned(fromByteOffset: 24, as: UInt64.self) }
    @_noLocks nonmutating set {
      unsafe base.storeBytes(of: newValue, toByteOffset: 24, as: UInt64.self)
    }
  }

  /// The letter of proc(5), before the thread was asked to stop; 0 if unknown.
  var stateLetter: UInt8 {
    @_noLocks get { unsafe base.loadUnaligned(fromByteOffset: 32, as: UInt8.self) }
    @_noLocks nonmutating set {
      unsafe base.storeBytes(of: newValue, toByteOffset: 32, as: UInt8.self)
    }
  }

  /// True for a thread that the kernel made for io_uring: it runs no code of the program, and
  /// blocks everything for good.
  var isKernelWorker: Bool {
    @_noLocks get { unsafe base.loadUnaligned(fromByteOffset: 33, as: UInt8.self) != 0 }
    @_noLocks nonmutating set {
      unsafe base.storeBytes(of: newValue ? 1 : 0, toByteOffset: 33, as: UInt8.self)
    }
  }

  /// True if the thread waited, was in the kernel or was stopped: S, D, T or t.
  var isBlocked: Bool {
    @_noLocks get {
      let letter = stateLetter
      return letter == 0x53 || letter == 0x44 || letter == 0x54 || letter == 0x74
    }
  }

  var nameLength: Int {
    @_noLocks get { Int(unsafe base.loadUnaligned(fromByteOffset: 34, as: UInt8.self)) }
  }

  var name: Bytes { @_noLocks get { unsafe Bytes(base + 40, count: nameLength) } }

  @_noLocks
  func setName(_ name: Bytes) {
    let kept = name.count < ThreadTable.nameCapacity ? name.count : ThreadTable.nameCapacity
    guard kept >= 0 else { return }
    unsafe pm_copy_bytes(base + 40, name.address, kept)
    unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: kept), toByteOffset: 34, as: UInt8.self)
  }

  var systemCallLength: Int {
    @_noLocks get { Int(unsafe base.loadUnaligned(fromByteOffset: 35, as: UInt8.self)) }
  }

  /// The text of proc_pid_syscall(5), read before the thread was asked to stop.
  var systemCall: Bytes {
    @_noLocks get { unsafe Bytes(base + 104, count: systemCallLength) }
  }

  @_noLocks
  func setSystemCall(_ text: Bytes) {
    guard text.count > 0, text.count <= ThreadTable.systemCallCapacity else { return }
    unsafe pm_copy_bytes(base + 104, text.address, text.count)
    unsafe base.storeBytes(
      of: UInt8(truncatingIfNeeded: text.count), toByteOffset: 35, as: UInt8.self)
  }

  @_noLocks
  func removeSystemCall() {
    unsafe base.storeBytes(of: 0, toByteOffset: 35, as: UInt8.self)
  }

  @_noLocks
  func reset(threadID: Int32) {
    unsafe base.storeBytes(of: threadID, toByteOffset: 4, as: Int32.self)
    context = 0
    threadPointer = 0
    blockedSignals = 0
    stateLetter = 0
    isKernelWorker = false
    unsafe base.storeBytes(of: 0, toByteOffset: 34, as: UInt8.self)
    unsafe base.storeBytes(of: 0, toByteOffset: 35, as: UInt8.self)
    setStatus(.running)
  }
}
