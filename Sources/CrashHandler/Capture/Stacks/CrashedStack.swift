internal import CSignalSafe

/// Finds the crashing thread's stack even if the thread's stack pointer no longer points into that stack.
///
/// A frame that is larger than the guard region moves the stack pointer past that region, into other memory or
/// unmapped memory. The next mapping above the stack pointer may then not be the stack. But the frame pointer, which
/// is set before the stack pointer moves, still points into the stack.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
extension Capture {
  /// Returns the address from which the stack is captured, before the red zone is subtracted: the stack pointer, or an
  /// address 128 bytes above the start of the thread's stack.
  ///
  /// The latter is returned if the whole stack is above the stack pointer, and the frame pointer points into the stack.
  @_noLocks
  func lowestStackAddress(_ context: SignalContext) -> UInt64 {
    let stackPointer = context.stackPointer
    guard let mapping = session.mappings.mapping(around: context.framePointer),
      mapping.start > stackPointer, mapping.has(Mapping.isReadable)
    else { return stackPointer }
    // libc keeps a thread's control block at the top of the thread's stack. The main thread's control block is
    // elsewhere; the top of its stack holds the program's arguments. A mapping that contains neither is not treated as
    // the thread's stack.
    guard mapping.contains(pm_thread_pointer()) || mapping.contains(installed.environment.start)
    else { return stackPointer }
    // `StackWriter` subtracts the red zone of 128 bytes from this address, so the capture starts at `mapping.start`.
    return mapping.start &+ 128
  }
}
