internal import CSignalSafe

/// The kernel's `siginfo_t`, which has 128 bytes.
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

  var number: Int32 {
    @_noLocks get { unsafe pm_siginfo_number(address) }
    @_noLocks nonmutating set { unsafe pm_set_siginfo_number(address, newValue) }
  }
  var code: Int32 { @_noLocks get { unsafe pm_siginfo_code(address) } }
  /// The address of a fault.
  var faultAddress: UInt64 { @_noLocks get { unsafe pm_siginfo_address(address) } }
  /// The ID of the process that sent the signal; for a fault or a timer's signal, these bytes have another meaning.
  var sender: Int32 { @_noLocks get { unsafe pm_siginfo_sender(address) } }

  /// The ID of this process's timer that sent the signal; -1 if the sender is not a timer.
  var timer: Int32 { @_noLocks get { code == SI_TIMER ? unsafe pm_siginfo_timer(address) : -1 } }
  /// The value that was queued with the signal (sigqueue(3)), such as a `CaptureRequest`.
  var value: UInt64 { @_noLocks get { unsafe pm_siginfo_value(address) } }

  /// Queues a signal with this siginfo for a thread; returns false if the kernel refuses.
  @_noLocks
  func queue(_ signal: Int32, for thread: Int32, of process: Int32) -> Bool {
    unsafe pm_tgsigqueueinfo(process, thread, signal, address) == 0
  }
}
