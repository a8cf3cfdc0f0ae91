internal import CSignalSafe

/// A crash signal that was sent to the capturing thread.
///
/// If the process continues after the dump (because the dump was requested, or the crash was survived), the signal is
/// sent again.
///
/// The signal cannot stay pending in the kernel during the dump. If the signal stayed unblocked, as the signals of
/// faults are, the kernel would deliver it at once, each time it is sent again. If it were blocked, a fault in the code
/// that takes the dump would make the kernel end the process.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct PostponedSignal {
  /// The number of bytes of the kernel's `siginfo_t`.
  static var byteCount: Int { @_noLocks get { 128 } }

  let place: SignalInformation

  /// Stores a copy of the signal.
  ///
  /// Only the first such signal is stored, because without the handler it would have ended the process.
  @_noLocks
  func keep(_ information: SignalInformation) {
    guard place.number == 0 else { return }
    unsafe pm_copy_bytes(place.address, information.address, PostponedSignal.byteCount)
  }

  /// Discards the stored signal.
  @_noLocks
  func forget() { place.number = 0 }

  /// Queues the signal for the calling thread, which is still the capturing thread.
  ///
  /// The thread gets the signal when its signal handler returns.
  @_noLocks
  func sendAgain(_ threadID: Int32, of process: Int32) {
    let number = place.number
    guard number != 0 else { return }
    SignalMask.block(SignalMask.bit(number))
    if !place.queue(number, for: threadID, of: process) {
      _ = pm_tgkill(process, threadID, number)
    }
    forget()
  }
}
