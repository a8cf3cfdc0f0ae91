internal import CSignalSafe
internal import IntermediateDump

/// The exception: who, which signal, and the last words of the runtime and of libc.
///
/// RUNS-DURING-CRASH.
@c(pm_write_exception) @_noLocks
func pm_write_exception(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  unsafe state.pointee.writer.startMap(.exception)
  // First, so that a dump torn anywhere behind this still says who.
  unsafe state.pointee.writer.unsigned(
    .exceptionThreadID, UInt64(UInt32(bitPattern: state.pointee.threadID)), width: 4)
  // Nothing else: no signal came, and what the runtime said last it said of something else.
  guard unsafe state.pointee.request.kind == .crash else {
    unsafe state.pointee.writer.end()
    return
  }
  unsafe state.pointee.writer.signed(.signalNumber, Int64(state.pointee.signal), width: 4)
  if let information = unsafe state.pointee.information {
    unsafe state.pointee.writer.signed(
      .signalCode, Int64(pm_siginfo_code(information)), width: 4)
    unsafe state.pointee.writer.unsigned(.faultAddress, pm_siginfo_address(information))
    // siginfo_t is 128 bytes by the kernel's ABI.
    unsafe state.pointee.writer.property(.signalInfo, information, count: 128)
    unsafe writeSenderName(state, information)
  }
  let text = unsafe TextWriter(state)
  let limit = 16384
  unsafe text.write(
    .fatalMessage, atPointer: state.pointee.fatalMessageBuffer, skipping: 0, limit: limit)
  // Behind the size, see pm_abort_message_pointer.
  unsafe text.write(
    .abortMessage, atPointer: state.pointee.abortMessagePointer, skipping: 4, limit: limit)
  unsafe state.pointee.writer.end()
}

/// What the process that sent the signal is called, while it still is there.
@_noLocks
private func writeSenderName(
  _ state: UnsafeMutablePointer<HandlerState>, _ information: UnsafeRawPointer
) {
  let code = unsafe pm_siginfo_code(information)
  // SI_USER, SI_QUEUE, SI_MESGQ and SI_TKILL have a sender, in si_pid.
  guard code == 0 || code == -1 || code == -3 || code == -6 else { return }
  let sender = unsafe information.loadUnaligned(fromByteOffset: 16, as: Int32.self)
  guard sender > 0, unsafe sender != state.pointee.processID,
    let place = unsafe state.pointee.writer.beginProperty(.senderName, capacity: 64)
  else { return }
  let count = unsafe ProcFile(proc: state.pointee.procDescriptor).readName(
    of: sender, into: place, capacity: 64)
  if count > 0 { unsafe state.pointee.writer.finishProperty(count: count) }
}
