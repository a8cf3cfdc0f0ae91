internal import CSignalSafe
internal import IntermediateDump

/// Runs the parts of a dump, each with a landing pad for a fault of its own.
///
/// RUNS-DURING-CRASH.
@safe
struct SectionRunner {
  private let state: UnsafeMutablePointer<HandlerState>

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
  }

  /// Runs one section, and flushes what it wrote, unless the next one does.
  ///
  /// Left out if the time is over. A fault in it ends the section, not the dump: maps that it left
  /// open are closed, the fault is noted, and the next section follows.
  ///
  /// - Parameters:
  ///   - number: the section's bit in `sectionsAbandoned`.
  ///   - flushes: false for one that shares its write with the next.
  ///   - body: called with the state. May hold nothing that needs to be given back.
  @_noLocks
  func run(
    _ number: UInt64, flushes: Bool = true,
    _ body: @convention(c) (UnsafeMutableRawPointer) -> Void
  ) {
    let bit: UInt64 = 1 &<< number
    // After a fault between the sections they are gone through again.
    guard unsafe state.pointee.sectionsBegun & bit == 0,
      unsafe !state.pointee.hasLostFile
    else { return }
    unsafe state.pointee.sectionsBegun |= bit
    unsafe state.pointee.currentSection = bit
    let depth = unsafe state.pointee.writer.depth
    guard unsafe !state.pointee.isOutOfTime else {
      unsafe state.pointee.sectionsAbandoned |= bit
      return
    }
    if unsafe pm_run_section(state.pointee.landingPads, body, UnsafeMutableRawPointer(state)) != 0 {
      unsafe state.pointee.sectionsAbandoned |= bit
      unsafe state.pointee.writer.recover()
      unsafe state.pointee.writer.close(toDepth: depth)
    }
    if flushes, unsafe OwnDescriptors(state).check() { unsafe state.pointee.writer.flush() }
  }
}

extension HandlerState {
  /// The reader for this crash.
  var memory: SafeMemory {
    @_noLocks get {
      unsafe SafeMemory(
        processID: processID, environmentStart: environmentStart, environmentEnd: environmentEnd,
        landingPad: hasFaultStack ? landingPads + 1 : nil,
        usesSystemCall: makes(CallBit.memoryReads))
    }
  }
}
