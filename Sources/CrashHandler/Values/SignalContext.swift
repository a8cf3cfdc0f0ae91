internal import CSignalSafe

/// The state of a thread that the kernel saved when it called a signal handler: a `ucontext_t`.
///
/// The kernel has just written the context on the thread's stack, so code reads the context without checking first that
/// its memory is mapped. Memory to which a register in the context points must be checked before it is read.
///
/// RUNS-DURING-CRASH.
@safe
struct SignalContext {
  let address: UnsafeMutableRawPointer

  @_noLocks
  init?(_ address: UnsafeMutableRawPointer?) {
    guard let address = unsafe address else { return nil }
    unsafe self.address = address
  }

  var number: UInt64 {
    @_noLocks get { UInt64(truncatingIfNeeded: UInt(bitPattern: unsafe address)) }
  }

  // MARK: - Registers

  var instructionPointer: UInt64 {
    @_noLocks get { unsafe pm_context_register(address, PM_INSTRUCTION_POINTER) }
    @_noLocks nonmutating set {
      unsafe pm_context_set_register(address, PM_INSTRUCTION_POINTER, newValue)
    }
  }
  var stackPointer: UInt64 {
    @_noLocks get { unsafe pm_context_register(address, PM_STACK_POINTER) }
  }
  var framePointer: UInt64 {
    @_noLocks get { unsafe pm_context_register(address, PM_FRAME_POINTER) }
  }
  #if arch(arm64)
    var linkRegister: UInt64 {
      @_noLocks get { unsafe pm_context_register(address, PM_LINK_REGISTER) }
    }
    /// The exception syndrome of a fault, which shows whether the access was a read or a write; 0 if the kernel
    /// provides none.
    var faultSyndrome: UInt64 { @_noLocks get { unsafe pm_context_fault_syndrome(address) } }
  #endif
  #if arch(x86_64)
    /// The code to which this handler returns, and each handler that libc has installed: the kernel puts its address
    /// below the context.
    var restorer: UInt64 {
      @_noLocks get { unsafe (address - 8).loadUnaligned(as: UInt64.self) }
    }
  #endif
  var generalRegisters: Bytes {
    @_noLocks get {
      unsafe Bytes(pm_context_registers(address), count: Int(PM_GENERAL_REGISTERS_SIZE))
    }
  }
  /// The memory of the floating-point and vector state in the signal frame.
  ///
  /// The result is nil for an x86_64 context that the program has copied elsewhere.
  var floatingPointInFrame: Bytes? {
    @_noLocks get {
      let state = unsafe pm_context_floating_point(address)
      let offset = unsafe UInt(bitPattern: state) &- UInt(bitPattern: address)
      // In a signal frame, the state is near the context: on x86_64, the kernel places it at the first multiple of 64
      // after the frame's 440 bytes. On arm64, the state is in the ucontext_t itself.
      guard let state = unsafe state, offset > 0, offset < 4096 else { return nil }
      return unsafe Bytes(state, count: Int(truncatingIfNeeded: pm_floating_point_size(state)))
    }
  }

  // MARK: - Signals

  /// The signal mask that is restored when the handler returns.
  var signalMask: UInt64 {
    @_noLocks get { unsafe pm_context_signal_mask(address) }
    @_noLocks nonmutating set { unsafe pm_context_set_signal_mask(address, newValue) }
  }

  /// Changes the context so that the crash signals are unblocked when the handler returns.
  @_noLocks
  func openCrashSignals() { signalMask = pm_opened_mask(signalMask) }

  /// True if the kernel called the handler; false if another handler called it.
  ///
  /// - Parameter entryStackPointer: the stack pointer at the handler's entry.
  @_noLocks
  func isFromKernel(_ entryStackPointer: UInt64) -> Bool {
    unsafe pm_is_kernels_call(address, entryStackPointer) != 0
  }

  // MARK: - The alternate stack

  /// The thread's alternate stack when the signal arrived.
  var signalStack: pm_signal_stack {
    @_noLocks get { unsafe pm_context_signal_stack(address).pointee }
  }

  /// The size of the thread's alternate stack; 0 if the thread has none.
  var signalStackSize: UInt64 { @_noLocks get { signalStack.size } }

  /// True if the interrupted code ran on the alternate stack, as signal handlers do.
  var isOnSignalStack: Bool {
    @_noLocks get { unsafe pm_context_is_on_signal_stack(address) != 0 }
  }

  /// True if the stack pointer is on the alternate stack, below this context.
  ///
  /// If the handler that was called with this context runs on the alternate stack, the result is true in that handler,
  /// and in a handler that interrupted it on that stack.
  @_noLocks
  func isAbove(_ stackPointer: UInt64) -> Bool {
    stackPointer < number && stackPointer &- signalStack.base < signalStack.size
  }

  /// True if the thread has an alternate stack of at least this size, or runs on an alternate stack.
  ///
  /// In both cases, the stack must not be replaced.
  @_noLocks
  func hasSignalStack(_ size: UInt64) -> Bool {
    let stack = signalStack
    if Int(stack.flags) & PM_SS_ONSTACK != 0 { return true }
    return Int(stack.flags) & PM_SS_DISABLE == 0 && stack.size >= size
  }

  /// Sets the alternate stack that the thread has after the handler returns.
  @_noLocks
  func setSignalStack(_ base: UInt64, size: Int) {
    unsafe pm_context_set_signal_stack(address, base, size)
  }

  /// Records in the table of `pm_told_stacks.h` which alternate stack the thread has after the handler returns.
  ///
  /// Before code sends a signal to the thread, it checks in this record whether the signal frame fits on the stack.
  @_noLocks
  func tellSignalStack(of threadID: Int32, isHandlers: Bool) {
    let stack = signalStack
    pm_tell_stack(
      threadID, pm_told_stack(base: stack.base, size: stack.size, is_handlers: isHandlers))
  }

  /// Installs the alternate stack that the kernel would set when the handler returns, because the handler may never
  /// return.
  @_noLocks
  func restoreSignalStack() { _ = unsafe pm_restore_signal_stack(address) }
}
