internal import CSignalSafe

/// A signal, as a handler got it.
///
/// RUNS-DURING-CRASH.
struct DeliveredSignal {
  let number: Int32
  let information: SignalInformation?
  let context: SignalContext?

  /// None: of a dump without a crash, with what its thread called it in.
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

  /// 0, as of a signal that a process sent, if it is not known.
  var code: Int32 { @_noLocks get { information?.code ?? 0 } }

  /// True for a signal that a process or the kernel sent.
  var wasSent: Bool {
    @_noLocks get {
      guard let information else { return false }
      return DeliveredSignal.isSent(number, code: information.code)
    }
  }

  /// True for one that an instruction raised.
  var isFault: Bool {
    @_noLocks get {
      guard let information else { return false }
      return !DeliveredSignal.isSent(number, code: information.code)
    }
  }

  /// True for what a process or the kernel sends.
  ///
  /// The kernel sends XCPU as SI_KERNEL, XFSZ and PIPE in the name of the process itself; for the
  /// first process of a PID namespace it discards all of these under the default action. Source:
  /// Linux kernel/signal.c, sig_task_ignored and force_sig_info_to_task.
  @_noLocks
  private static func isSent(_ signal: Int32, code: Int32) -> Bool {
    code <= 0 || signal == 24 || signal == 25 || signal == 13 || signal == 3
  }
}

/// The kernel's `siginfo_t`: 128 bytes.
///
/// RUNS-DURING-CRASH. Source: sigaction(2).
@safe
struct SignalInformation {
  let address: UnsafeMutableRawPointer

  @_noLocks
  init?(_ address: UnsafeMutableRawPointer?) {
    guard let address = unsafe address else { return nil }
    unsafe self.address = address
  }

  var code: Int32 { @_noLocks get { unsafe pm_siginfo_code(address) } }
  /// Of a fault.
  var faultAddress: UInt64 { @_noLocks get { unsafe pm_siginfo_address(address) } }
  /// The process, of a signal that was sent.
  var sender: Int32 { @_noLocks get { unsafe pm_siginfo_sender(address) } }

  /// Queues the signal for a thread with this; false if the kernel refuses.
  @_noLocks
  func queue(_ signal: Int32, for thread: Int32, of process: Int32) -> Bool {
    unsafe pm_tgsigqueueinfo(process, thread, signal, address) == 0
  }
}
