internal import CSignalSafe
internal import IntermediateDump

/// The exception: who, which signal, and what the runtime and libc said last.
///
/// RUNS-DURING-CRASH.
@c(pm_write_exception) @_noLocks
func pm_write_exception(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.session.writer.startMap(.exception)
  // First, so that a dump torn anywhere behind this still says who.
  capture.session.writer.unsigned(
    .exceptionThreadID, UInt64(UInt32(bitPattern: capture.session.exception.threadID)), width: 4)
  // Nothing else: no signal came, and what the runtime said last it said of something else.
  guard capture.session.request.isCrash else {
    capture.session.writer.end()
    return
  }
  capture.session.writer.signed(
    .signalNumber, Int64(capture.session.exception.signal.number), width: 4)
  if let information = capture.session.exception.signal.information {
    capture.session.writer.signed(.signalCode, Int64(information.code), width: 4)
    capture.session.writer.unsigned(.faultAddress, information.faultAddress)
    // siginfo_t is 128 bytes by the kernel's ABI.
    unsafe capture.session.writer.property(.signalInfo, information.address, count: 128)
    writeSenderName(capture, information)
  }
  let text = TextWriter(capture)
  let limit = 16384
  text.write(
    .fatalMessage, atPointer: capture.installed.runtime.fatalMessageBuffer, skipping: 0,
    limit: limit)
  // Behind the size, see pm_abort_message_pointer.
  text.write(
    .abortMessage, atPointer: capture.installed.runtime.abortMessagePointer, skipping: 4,
    limit: limit)
  capture.session.writer.end()
}

/// What the process that sent the signal is called, while it still is there.
@_noLocks
private func writeSenderName(_ capture: Capture, _ information: SignalInformation) {
  let (code, sender) = (information.code, information.sender)
  // Those that have a sender, in si_pid.
  guard code == SI_USER || code == SI_QUEUE || code == SI_MESGQ || code == SI_TKILL else { return }
  guard sender > 0, sender != capture.shared.process.id,
    let place = unsafe capture.session.writer.beginProperty(.senderName, capacity: 64)
  else { return }
  let count = unsafe ProcReader(proc: capture.session.files.proc.descriptor).readName(
    of: sender, into: place, capacity: 64)
  if count > 0 { capture.session.writer.finishProperty(count: count) }
}
