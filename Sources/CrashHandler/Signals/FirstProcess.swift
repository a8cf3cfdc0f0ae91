internal import CSignalSafe

/// The first process of a PID namespace, as in most containers, which the kernel shields: a signal
/// whose action is the default is discarded, unless the kernel itself forces it.
///
/// So some signals do not end it that end any other process; abort() and the handler go other ways.
///
/// RUNS-DURING-CRASH. Source: pid_namespaces(7); Linux kernel/signal.c, sig_task_ignored.
@safe
struct FirstProcess {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True if the kernel would have discarded the signal: of a process, or the kernel's own.
  @_noLocks
  func discards(_ signal: DeliveredSignal) -> Bool {
    capture.shared.process.id == 1 && signal.wasSent
  }

  // MARK: - Its end

  /// True where the kernel itself would have ended it, but discards the signal when it is queued:
  /// one that it forces, by an instruction, under the default action.
  ///
  /// Signals that were sent are another matter: the kernel would have discarded those too.
  @_noLocks
  func mustBeEnded(by signal: DeliveredSignal) -> Bool {
    let number = signal.number
    guard number == SIGTRAP || number == SIGSYS, signal.code > 0, pm_getpid() == 1 else {
      return false
    }
    return capture.shared.previousActions[number].handler == SIG_DFL
  }

  /// Goes back to the instruction behind which the thread stands, to run into it again; false if
  /// that is not a breakpoint or a system call.
  ///
  /// At a system call that seccomp trapped, the kernel has put the registers back as they were
  /// before it. Source: Linux kernel/seccomp.c, SECCOMP_RET_TRAP.
  @_noLocks
  func rewind(_ signal: DeliveredSignal) -> Bool {
    guard let context = signal.context else { return false }
    #if arch(arm64)
      // svc #0; a breakpoint recurs as it is.
      let (size, expected): (Int, UInt32) = (4, 0xD400_0001)
    #else
      // int3, or syscall.
      let (size, expected): (Int, UInt32) = signal.number == SIGTRAP ? (1, 0xCC) : (2, 0x050F)
    #endif
    let address = context.instructionPointer &- UInt64(truncatingIfNeeded: size)
    guard capture.memory.instruction(at: address, size: size) == expected else { return false }
    context.instructionPointer = address
    return true
  }

  // MARK: - abort()

  /// Notes the thread of a signal that abort() may have raised: it goes on when the kernel has
  /// discarded that, or the signal's handler has returned, and the kernel discards its second one
  /// too.
  @_noLocks
  func noteAbort() {
    let exception = capture.session.exception
    let isAbort =
      exception.signal.number == SIGABRT && capture.shared.process.id == 1
      && exception.signal.information?.sender == 1
    capture.shared.abortingThread = isAbort ? exception.threadID : 0
  }

  /// True where abort(), whose signal the kernel discarded, ends the process by an instruction that
  /// faults.
  ///
  /// Source: glibc stdlib/abort.c, ABORT_INSTRUCTION.
  @_noLocks
  func isLastResortOfAbort() -> Bool {
    let exception = capture.session.exception
    guard exception.threadID == capture.shared.abortingThread,
      let context = exception.signal.context
    else { return false }
    #if arch(arm64)
      let (signal, instruction, size): (Int32, UInt32, Int) = (SIGTRAP, 0xD420_7D00, 4)  // brk 1000
    #else
      let (signal, instruction, size): (Int32, UInt32, Int) = (SIGSEGV, 0xF4, 1)  // hlt
    #endif
    return exception.signal.number == signal
      && capture.memory.instruction(at: context.instructionPointer, size: size) == instruction
  }
}
