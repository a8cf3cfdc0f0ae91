internal import CSignalSafe

/// A crash signal that somebody sent to the capturing thread, for when that is done and the process
/// lives on: after a requested dump, and after a crash that it survives.
///
/// It cannot wait in the kernel meanwhile: our handlers leave the signals of faults open, so that it
/// would come at once, again and again, and blocked it would let the kernel end the process at a
/// fault of the dump's own.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct PostponedSignal {
  /// Bytes of the kernel's `siginfo_t`.
  static var byteCount: Int { @_noLocks get { 128 } }

  private let place: SignalInformation

  /// - Parameter place: of `byteCount` bytes.
  @_noLocks
  init(_ place: UnsafeMutableRawPointer) {
    self.place = unsafe SignalInformation(place)
  }

  /// Keeps a copy, of several the first: it is the one that would have ended the process.
  @_noLocks
  func keep(_ information: SignalInformation) {
    guard place.number == 0 else { return }
    unsafe pm_copy_bytes(place.address, information.address, PostponedSignal.byteCount)
  }

  /// Forgets one that was kept.
  @_noLocks
  func forget() { place.number = 0 }

  /// Queues it for the calling thread, which still is the capturing one and gets it once its signal
  /// handler returns.
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
