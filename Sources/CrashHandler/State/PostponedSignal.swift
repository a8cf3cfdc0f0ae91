internal import CSignalSafe

/// A crash signal that was sent to the capturing thread.
///
/// The signal is sent again after the dump if the process continues: after a requested dump or a survived crash.
///
/// The signal cannot stay pending in the kernel during the dump. The handlers leave the signals of faults unblocked,
/// so an unblocked signal would arrive again and again. If the signal were blocked, the kernel would end the process
/// at a fault in the code that takes the dump.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct PostponedSignal {
  /// The number of bytes of the kernel's `siginfo_t`.
  static var byteCount: Int { @_noLocks get { 128 } }

  let place: SignalInformation

  /// Stores a copy of the signal.
  ///
  /// Only the first such signal is stored, because it would have ended the process.
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
