internal import CSignalSafe
internal import IntermediateDump

/// A signal with the data that a handler receives.
///
/// RUNS-DURING-CRASH.
struct DeliveredSignal {
  let number: Int32
  let information: SignalInformation?
  let context: SignalContext?

  /// A value without a signal, for a requested dump; `context` is the caller's context.
  @_noLocks
  init(context: SignalContext?) {
    number = 0
    information = nil
    self.context = context
  }

  @_noLocks
  init(
    _ number: Int32, _ information: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?
  ) {
    self.number = number
    self.information = unsafe SignalInformation(information)
    self.context = unsafe SignalContext(context)
  }

  /// The code in the siginfo; 0 if there is no siginfo.
  ///
  /// 0 is also SI_USER, the code of a signal that a process sent with kill(2).
  var code: Int32 { @_noLocks get { information?.code ?? 0 } }

  /// True for a signal that, according to its siginfo, a process or the kernel sent, and no instruction raised.
  ///
  /// SIGXCPU, SIGXFSZ, SIGPIPE and SIGQUIT always count as sent, whatever their code is. In reports, only the code
  /// decides whether a signal counts as sent (`ExceptionSnapshot.wasSent`). The kernel sends SIGXCPU with the code
  /// SI_KERNEL, and names the process itself as the sender of SIGXFSZ and SIGPIPE. In the first process of a PID
  /// namespace, the kernel discards all of these signals if their action is the default. Source: Linux
  /// kernel/signal.c, sig_task_ignored and force_sig_info_to_task.
  var isAsynchronous: Bool {
    @_noLocks get {
      guard let information else { return false }
      return information.code <= 0 || SignalTable.isKernelEvent(number)
    }
  }

  /// True for a sent signal whose siginfo does not name this process as the sender.
  @_noLocks
  func isForeign(to process: Int32) -> Bool {
    guard isAsynchronous, let information else { return false }
    return information.sender != process
  }

  /// True for a signal that, according to its siginfo, an instruction raised.
  var isFault: Bool { @_noLocks get { information != nil && !isAsynchronous } }

  /// Whether the crashing instruction raises the signal again when the handler returns to that instruction.
  ///
  /// A fault is recognized by its code, which is positive. A memory error that the kernel reports late
  /// (BUS_MCEERR_AO) does not recur. A breakpoint recurs only on arm64, where the instruction pointer is at the
  /// breakpoint; on x86-64, the instruction pointer is already after it.
  var recurrence: Recurrence {
    @_noLocks get {
      let code = code
      switch number {
      case SIGSEGV where code >= 1 && code <= SEGV_PKUERR: return .certain
      case SIGBUS where code >= 1 && code <= BUS_MCEERR_AR: return .certain
      case SIGFPE where code >= 1 && code <= 15: return .certain
      case SIGILL where code >= 1 && code <= 15: return .certain
      case SIGSEGV, SIGFPE, SIGILL: return code > 0 ? .likely : .none
      case SIGBUS: return code > 0 && code != BUS_MCEERR_AO ? .likely : .none
      case SIGTRAP:
        #if arch(arm64)
          return code == TRAP_BRKPT ? .certain : .none
        #else
          return .none
        #endif
      default: return .none
      }
    }
  }

  enum Recurrence {
    case certain
    /// The code is positive, but does not show what the instruction did wrong; usually the code is SI_KERNEL.
    ///
    /// The cause may be the instruction, for example an access to a noncanonical address, or an earlier event, such
    /// as a signal frame for which there was no room.
    case likely
    case none

    var isCertain: Bool { @_noLocks get { if case .certain = self { true } else { false } } }
    var isLikely: Bool { @_noLocks get { if case .none = self { false } else { true } } }
  }
}
