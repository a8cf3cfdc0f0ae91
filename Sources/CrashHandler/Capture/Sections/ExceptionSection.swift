internal import CSignalSafe
internal import IntermediateDump

/// Writes the exception: thread, signal, and the last messages of the runtime and libc.
///
/// RUNS-DURING-CRASH.
@safe
struct ExceptionSection {
  /// Bytes of a message at most.
  private static var messageLimit: Int { 16384 }

  private let exception: CapturedException
  private let processID: Int32
  private let proc: ProcReader
  private let isSanitized: Bool
  private let output: DumpOutput

  @_noLocks
  init(
    _ exception: CapturedException, processID: Int32, proc: ProcReader, isSanitized: Bool,
    output: DumpOutput
  ) {
    self.isSanitized = isSanitized
    self.exception = exception
    self.processID = processID
    self.proc = proc
    self.output = output
  }

  /// Opens the map with the thread: a dump torn anywhere behind it still names it.
  @_noLocks
  func begin() {
    output.startMap(.exception)
    output.identifier(.exceptionThreadID, exception.threadID)
  }

  @_noLocks
  func end() { output.end() }

  @_noLocks
  func writeSignal() {
    output.signed(.signalNumber, Int64(exception.signal.number), width: 4)
    guard let information = exception.signal.information else { return }
    output.signed(.signalCode, Int64(information.code), width: 4)
    output.unsigned(.faultAddress, information.faultAddress)
    writeSignalInformation(information)
    if !isSanitized { writeSenderName(information) }
  }

  /// Writes the kernel's word on the page of a fault in which nothing was mapped: a guard region may lie
  /// within a mapping that is there.
  ///
  /// Source: Linux Documentation/admin-guide/mm/pagemap.rst; madvise(2), MADV_GUARD_INSTALL.
  @_noLocks
  func writeFaultPage(pageSize: UInt64) {
    guard exception.signal.number == SIGSEGV, exception.signal.code == SEGV_MAPERR,
      let information = exception.signal.information
    else { return }
    let descriptor = proc.open(named: "thread-self/pagemap")
    guard descriptor >= 0 else { return }
    var word: UInt64 = 0
    let offset = Int64(bitPattern: information.faultAddress / pageSize &* 8)
    if unsafe pm_pread(descriptor, &word, 8, offset) == 8 { output.unsigned(.faultPage, word) }
    _ = pm_close(descriptor)
  }

  /// Writes the siginfo_t, 128 bytes by the kernel's ABI, without the value that a sender may have added.
  private func writeSignalInformation(_ information: SignalInformation) {
    guard let place = unsafe output.beginProperty(.signalInfo, capacity: 128) else { return }
    unsafe pm_copy_bytes(place, information.address, 128)
    if isSanitized, information.code <= 0 {
      unsafe place.storeBytes(of: 0, toByteOffset: 24, as: UInt64.self)
    }
    output.finishProperty(count: 128)
  }

  /// Writes the texts that two pointers lead to; libc's begins behind its size, see
  /// `pm_abort_message_pointer`.
  @_noLocks
  func writeMessages(_ text: MemoryWriter, fatal: UInt64, abort: UInt64) {
    let limit = ExceptionSection.messageLimit
    text.writeText(.fatalMessage, atPointer: fatal, skipping: 0, limit: limit)
    text.writeText(.abortMessage, atPointer: abort, skipping: 4, limit: limit)
  }

  /// Writes the name of the process that sent the signal, if it is still there.
  private func writeSenderName(_ information: SignalInformation) {
    let (code, sender) = (information.code, information.sender)
    // Only these have a sender, in si_pid.
    guard code == SI_USER || code == SI_QUEUE || code == SI_MESGQ || code == SI_TKILL,
      sender > 0, sender != processID,
      let place = unsafe output.beginProperty(.senderName, capacity: 64)
    else { return }
    let count = unsafe proc.readName(of: sender, into: place, capacity: 64)
    if count > 0 { output.finishProperty(count: count) }
  }
}
