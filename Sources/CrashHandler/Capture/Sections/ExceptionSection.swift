internal import CSignalSafe
internal import IntermediateDump

/// Writes the exception: the thread, the signal, and the last messages of the Swift runtime and libc.
///
/// RUNS-DURING-CRASH.
@c(pm_write_exception) @_noLocks
func pm_write_exception(_ argument: UnsafeMutableRawPointer) {
  unsafe Capture(argument).writeException(isForLog: false)
}

extension Capture {
  /// - Parameter isForLog: true for the dump for the log, which has the beginnings of the messages. What was read for
  ///   the dump of this crash is then not read again, because other threads may have changed it.
  @_noLocks
  func writeException(isForLog: Bool) {
    // The thread ID is written first, so that a dump that is truncated later still names the thread.
    writer.startMap(.exception)
    writer.identifier(.exceptionThreadID, session.exception.threadID)
    // In a dump without a crash, there is no signal, and the runtime's last message, if any, is about something else.
    if session.request.isCrash {
      writeSignal()
      if !isForLog || !session.result.hasFile { readFacts() }
      if session.exception.faultPage != 0 {
        writer.unsigned(.faultPage, session.exception.faultPage)
      }
      let limit = isForLog ? 480 : CrashSummary.messageSize
      write(.fatalMessage, message(0).prefix(limit))
      write(.abortMessage, message(1).prefix(limit))
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

  /// Reads the facts that may change while other threads run.
  private func readFacts() {
    if mayMake(CallBit.proc) { session.exception.faultPage = faultPage() }
    guard !installed.isSanitized else { return }
    let (runtime, messages) = (installed.runtime, installed.summary.messages)
    session.exception.messageSizes.first = unsafe memory.copyText(
      atPointer: runtime.fatalMessageBuffer, skipping: 0, to: messages.address,
      limit: CrashSummary.messageSize)
    // libc's message begins with its size, whose 4 bytes are skipped; see `pm_abort_message_pointer`.
    session.exception.messageSizes.second = unsafe memory.copyText(
      atPointer: runtime.abortMessagePointer, skipping: 4,
      to: messages.address + CrashSummary.messageSize, limit: CrashSummary.messageSize)
  }

  /// The kernel's page-map entry for the page that contains the address of a fault in unmapped memory; 0 if there is
  /// none.
  ///
  /// The entry shows whether the page is in a guard region. The list of mappings does not show this, because a guard
  /// region may be inside a mapping.
  ///
  /// Source: Linux Documentation/admin-guide/mm/pagemap.rst; madvise(2), MADV_GUARD_INSTALL.
  private func faultPage() -> UInt64 {
    let signal = session.exception.signal
    guard signal.number == SIGSEGV, signal.code == SEGV_MAPERR,
      let information = signal.information
    else { return 0 }
    return session.resident.entry(information.faultAddress) ?? 0
  }

  /// The Swift runtime's message, which has number 0, or libc's, which has number 1, as it was when the dump began; empty
  /// if there was none.
  @_noLocks
  func message(_ number: Int) -> Bytes {
    let sizes = session.exception.messageSizes
    return installed.summary.messages.dropFirst(number &* CrashSummary.messageSize)
      .bytes(count: number == 0 ? sizes.first : sizes.second)
  }

  private func write(_ key: IntermediateDumpKey, _ message: Bytes) {
    if message.count > 0 { writer.property(key, message) }
  }
}
