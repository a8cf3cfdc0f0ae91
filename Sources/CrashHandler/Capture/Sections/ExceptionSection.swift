internal import CSignalSafe
internal import IntermediateDump

/// Writes the exception: the thread, the signal, and the last messages of the Swift runtime and libc.
///
/// RUNS-DURING-CRASH.
@c(pm_write_exception) @_noLocks
func pm_write_exception(_ argument: UnsafeMutableRawPointer) {
  unsafe Capture(argument).writeException(messageLimit: 16384)
}

extension Capture {
  /// - Parameter messageLimit: the maximum number of bytes of each message.
  @_noLocks
  func writeException(messageLimit: Int) {
    // The thread ID is written first, so that a dump that is truncated later still names the thread.
    writer.startMap(.exception)
    writer.identifier(.exceptionThreadID, session.exception.threadID)
    // In a dump without a crash, there is no signal, and the runtime's last message, if any, is about something else.
    if session.request.isCrash {
      writeSignal()
      if mayMake(CallBit.proc) { writeFaultPage() }
      if !installed.isSanitized { writeMessages(limit: messageLimit) }
    }
    writer.end()
  }

  private func writeSignal() {
    let signal = session.exception.signal
    writer.signed(.signalNumber, Int64(signal.number), width: 4)
    guard let information = signal.information else { return }
    writer.signed(.signalCode, Int64(information.code), width: 4)
    writer.unsigned(.faultAddress, information.faultAddress)
    writeSignalInformation(information)
    writeFaultSyndrome()
    if !installed.isSanitized { writeSenderName(information) }
  }

  /// Writes the fault's syndrome on arm64; on x86_64, the registers include the error code instead.
  private func writeFaultSyndrome() {
    #if arch(arm64)
      // For a sent signal, the syndrome would be that of an earlier fault, because the kernel does not clear it.
      let signal = session.exception.signal
      guard signal.isFault, let context = signal.context else { return }
      let syndrome = context.faultSyndrome
      if syndrome != 0 { writer.unsigned(.trapErrorCode, syndrome) }
    #endif
  }

  /// Writes the siginfo_t, which has 128 bytes in the kernel's ABI.
  ///
  /// If the dump must not contain secrets, this function clears `si_value`, which the signal's sender may have set.
  private func writeSignalInformation(_ information: SignalInformation) {
    guard let place = unsafe writer.beginProperty(.signalInfo, capacity: 128) else { return }
    unsafe pm_copy_bytes(place, information.address, 128)
    if installed.isSanitized, information.code <= 0 {
      unsafe place.storeBytes(of: 0, toByteOffset: 24, as: UInt64.self)
    }
    writer.finishProperty(count: 128)
  }

  /// Writes the name of the process that sent the signal, if it is another process and still exists.
  private func writeSenderName(_ information: SignalInformation) {
    let (code, sender) = (information.code, information.sender)
    // si_pid contains the sender only if the signal has one of these codes.
    guard code == SI_USER || code == SI_QUEUE || code == SI_MESGQ || code == SI_TKILL,
      sender > 0, sender != shared.process.id,
      let place = unsafe writer.beginProperty(.senderName, capacity: 64)
    else { return }
    let count = unsafe proc.readName(of: sender, into: place, capacity: 64)
    if count > 0 { writer.finishProperty(count: count) }
  }

  /// For a fault in unmapped memory, writes the kernel's page-map entry for the page that contains the fault address.
  ///
  /// The entry shows whether the page is in a guard region. The list of mappings does not show this, because a guard
  /// region may be inside a mapping.
  ///
  /// Source: Linux Documentation/admin-guide/mm/pagemap.rst; madvise(2), MADV_GUARD_INSTALL.
  private func writeFaultPage() {
    let signal = session.exception.signal
    guard signal.number == SIGSEGV, signal.code == SEGV_MAPERR,
      let information = signal.information
    else { return }
    if let entry = session.resident.entry(information.faultAddress) {
      writer.unsigned(.faultPage, entry)
    }
  }

  /// Writes the last messages of the Swift runtime and libc.
  ///
  /// libc's message begins with its size, which is skipped, and continues with the text; see
  /// `pm_abort_message_pointer`.
  private func writeMessages(limit: Int) {
    let text = regions
    text.writeText(
      .fatalMessage, atPointer: installed.runtime.fatalMessageBuffer, skipping: 0, limit: limit)
    text.writeText(
      .abortMessage, atPointer: installed.runtime.abortMessagePointer, skipping: 4, limit: limit)
  }
}
