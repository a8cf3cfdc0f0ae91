internal import CSignalSafe

/// Finds the crashing thread's stack even if the thread's stack pointer no longer points into that stack.
///
/// A frame that is larger than the guard region moves the stack pointer past that region, into other memory or
/// unmapped memory. The next mapping above the stack pointer may then not be the stack. But the frame pointer, which
/// is set before the stack pointer moves, still points into the stack.
///
/// RUNS-DURING-CRASH, on the capturing thread.
@safe
struct CrashedStack {
  private let mappings: MappingTable
  private let environmentStart: UInt64

  @_noLocks
  init(mappings: MappingTable, environmentStart: UInt64) {
    self.mappings = mappings
    self.environmentStart = environmentStart
  }

  /// Returns the lowest address to capture: the stack pointer, or the beginning of the thread's stack.
  ///
  /// The beginning of the stack is used if the stack is above the stack pointer and contains the frame pointer.
  @_noLocks
  func lowestAddress(_ context: SignalContext) -> UInt64 {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    guard stackPointer < framePointer else { return stackPointer }
    guard let mapping = mappings.mapping(around: framePointer), mapping.start > stackPointer,
      mapping.has(Mapping.isReadable)
    else { return stackPointer }
    // libc keeps a thread's control block at the top of the thread's stack. The main thread's control block is
    // elsewhere; the top of its stack holds the program's arguments.
    guard
      contains(mapping, pm_thread_pointer()) || contains(mapping, environmentStart)
    else { return stackPointer }
    // `StackWriter` subtracts the red zone of 128 bytes from this address, so the capture starts at the beginning of
    // the mapping.
    return mapping.start &+ 128
  }

  private func contains(_ mapping: Mapping, _ address: UInt64) -> Bool {
    mapping.start <= address && address < mapping.end
  }
}
