internal import CSignalSafe

/// Finds the crashing thread's stack if its stack pointer has left the stack.
///
/// A frame larger than the guard region moves the stack pointer past it, into other memory or unmapped memory. The
/// next mapping is then not the stack. The frame pointer, which is set before the stack pointer moves, is still in
/// the stack.
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

  /// The address to capture from: the stack pointer, or the beginning of the thread's own stack if that is above and
  /// contains the frame pointer.
  @_noLocks
  func lowestAddress(_ context: SignalContext) -> UInt64 {
    let stackPointer = context.stackPointer
    let framePointer = context.framePointer
    guard stackPointer < framePointer else { return stackPointer }
    let index = mappings.index(endingAbove: framePointer)
    guard index < mappings.count, mappings[index].start <= framePointer,
      mappings[index].start > stackPointer, mappings[index].has(Mapping.isReadable)
    else { return stackPointer }
    // libc keeps a thread's control block at the top of its stack; the main thread's is elsewhere,
    // and its arguments are at the top.
    guard
      contains(mappings[index], pm_thread_pointer())
        || contains(mappings[index], environmentStart)
    else { return stackPointer }
    // The capture starts there, minus the red zone, which the writer adds.
    return mappings[index].start &+ 128
  }

  private func contains(_ mapping: Mapping, _ address: UInt64) -> Bool {
    mapping.start <= address && address < mapping.end
  }
}
