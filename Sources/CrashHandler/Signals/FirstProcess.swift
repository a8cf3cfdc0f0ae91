internal import CSignalSafe

/// Rules for a program that is the first process of a PID namespace, as in most containers.
///
/// The kernel discards a signal to the first process if the signal's action is the default. There are two exceptions:
/// signals that the kernel itself forces, and SIGKILL or SIGSTOP from a process outside the namespace.
///
/// So some signals that end any other process do not end the first process, and abort() and this handler must end it
/// in other ways.
///
/// RUNS-DURING-CRASH. Source: pid_namespaces(7); Linux kernel/signal.c, sig_task_ignored.
extension Capture {
  /// True if the kernel would have discarded the signal; called only if the default action would have been taken.
  ///
  /// In the first process, the kernel discards such a signal if a process or the kernel sent it, but not if an
  /// instruction raised it.
  @_noLocks
  func kernelDiscards(_ signal: DeliveredSignal) -> Bool {
    shared.process.id == 1 && signal.isAsynchronous
  }

  // MARK: - Ending the first process

  /// True in the first process for a SIGTRAP or SIGSYS that an instruction raised and whose previous action is the
  /// default.
  ///
  /// This signal ends the process if an instruction raises it, but the kernel discards it if the handler queues it. So
  /// the handler makes the instruction raise it again (`rewindToSignal`).
  ///
  /// The result is false for a signal that a process sent, which the kernel would have discarded even without this
  /// handler.
  @_noLocks
  func mustEndFirstProcess(by signal: DeliveredSignal) -> Bool {
    let number = signal.number
    // The process ID is read from the kernel, because this code also runs in a vfork child, whose `shared.process`
    // describes its parent.
    guard number == SIGTRAP || number == SIGSYS, signal.code > 0, pm_getpid() == 1 else {
      return false
    }
    return shared.previousActions[number].handler == SIG_DFL
  }

  /// Moves the instruction pointer back to the instruction that raised the signal, so that the instruction runs
  /// again.
  ///
  /// Returns false if the instruction before the instruction pointer is not a system call or, on x86-64, a breakpoint.
  ///
  /// For a system call that seccomp trapped, the kernel has restored the other registers to their values before the
  /// call. Source: Linux kernel/seccomp.c, SECCOMP_RET_TRAP.
  @_noLocks
  func rewindToSignal(_ signal: DeliveredSignal) -> Bool {
    guard let context = signal.context else { return false }
    #if arch(arm64)
      // This is the instruction `svc #0`. At a breakpoint (`brk`), the instruction pointer need not be moved, because
      // it points to the breakpoint.
      let (size, expected): (Int, UInt32) = (4, 0xD400_0001)
    #else
      // This is the instruction `int3` or `syscall`.
      let (size, expected): (Int, UInt32) = signal.number == SIGTRAP ? (1, 0xCC) : (2, 0x050F)
    #endif
    let address = context.instructionPointer &- UInt64(truncatingIfNeeded: size)
    guard memory.instruction(at: address, size: size) == expected else { return false }
    context.instructionPointer = address
    return true
  }

  // MARK: - abort()

  /// Notes this thread if abort() may have raised SIGABRT on it in the first process.
  ///
  /// After the kernel has discarded that signal, or the signal's handler has returned, abort() raises SIGABRT a
  /// second time. The kernel discards that second signal too.
  @_noLocks
  func noteAbort() {
    let exception = session.exception
    let isAbort =
      exception.signal.number == SIGABRT && shared.process.id == 1
      && exception.signal.information?.sender == 1
    shared.abortingThread = isAbort ? exception.threadID : 0
  }

  /// True if the signal comes from the faulting instruction by which abort() ends the process after the kernel has
  /// discarded SIGABRT.
  ///
  /// Source: glibc stdlib/abort.c, ABORT_INSTRUCTION.
  @_noLocks
  func isLastResortOfAbort() -> Bool {
    let exception = session.exception
    guard exception.threadID == shared.abortingThread,
      let context = exception.signal.context
    else { return false }
    #if arch(arm64)
      let (signal, instruction, size): (Int32, UInt32, Int) = (SIGTRAP, 0xD420_7D00, 4)  // brk 1000
    #else
      let (signal, instruction, size): (Int32, UInt32, Int) = (SIGSEGV, 0xF4, 1)  // hlt
    #endif
    return exception.signal.number == signal
      && memory.instruction(at: context.instructionPointer, size: size) == instruction
  }
}
