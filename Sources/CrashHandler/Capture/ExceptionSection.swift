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
  unsafe state.pointee.writer.signed(.signalNumber, Int64(state.pointee.signal), width: 4)
  if let information = unsafe state.pointee.information {
    unsafe state.pointee.writer.signed(
      .signalCode, Int64(pm_siginfo_code(information)), width: 4)
    unsafe state.pointee.writer.unsigned(.faultAddress, pm_siginfo_address(information))
    // siginfo_t is 128 bytes by the kernel's ABI.
    unsafe state.pointee.writer.property(.signalInfo, information, count: 128)
  }
  unsafe writeMessage(state, .fatalMessage, at: state.pointee.fatalMessageBuffer, offset: 0)
  // Behind the size, see pm_abort_message_pointer.
  unsafe writeMessage(state, .abortMessage, at: state.pointee.abortMessagePointer, offset: 4)
  unsafe state.pointee.writer.end()
}

/// Writes the NUL-terminated text that a pointer at `address` points to, `offset` bytes further;
/// nothing if there is none.
@_noLocks
private func writeMessage(
  _ state: UnsafeMutablePointer<HandlerState>, _ key: IntermediateDumpKey, at address: UInt64,
  offset: UInt64
) {
  let memory = unsafe state.pointee.memory
  guard address != 0, let text = memory.word(address), text != 0 else { return }
  let limit = 16384
  guard let place = unsafe state.pointee.writer.beginProperty(key, capacity: limit) else { return }
  var filled = 0
  var isTerminated = false
  while filled < limit, !isTerminated {
    // To the end of the page: what lies behind it may not be readable.
    let start = text &+ offset &+ UInt64(truncatingIfNeeded: filled)
    let toPageEnd = 4096 &- Int(truncatingIfNeeded: start & 4095)
    let piece = toPageEnd < limit &- filled ? toPageEnd : limit &- filled
    let copied = unsafe memory.copy(start, to: place + filled, count: piece)
    var index = 0
    while index < copied {
      let byte = unsafe place.loadUnaligned(fromByteOffset: filled &+ index, as: UInt8.self)
      if byte == 0 {
        isTerminated = true
        break
      }
      index &+= 1
    }
    filled &+= index
    if copied < piece { break }
  }
  if filled > 0 { unsafe state.pointee.writer.finishProperty(count: filled) }
}
