internal import ProcessSnapshot

/// Goes on above a part of the stack that the handler's cap left out.
///
/// Of a deep recursion a dump holds the innermost and the outermost frames. Where the chain of
/// frame pointers runs into the part between, the lowest record above it that starts a chain of
/// three is taken up; how many frames lie between is not known.
struct GapMethod: UnwindMethod {
  /// Records that must follow each other, so that two stale words are not taken for a chain.
  private static let chainLength = 3

  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard let stackPointer = state.registers.stackPointer,
      let framePointer = state.registers.framePointer,
      let part = process.partBehindGap(after: stackPointer), framePointer > stackPointer,
      framePointer < part.address, process.word(at: framePointer) == nil
    else { return .unknown }
    var slot = (part.address + 7) & ~7
    while slot < part.end, process.spend(1) {
      if startsChain(at: slot, in: process), let record = record(at: slot, in: process) {
        let registers = state.registers.caller(
          programCounter: record.returnAddress, stackPointer: slot + 16,
          framePointer: record.framePointer)
        return .caller(
          UnwindState(registers: registers, trust: .afterGap, isReturnAddress: true))
      }
      slot += 8
    }
    return .unknown
  }

  private func record(at slot: UInt64, in process: UnwindProcess) -> FrameRecord? {
    guard let record = FrameRecord(at: slot, notBelow: slot, in: process),
      process.check(returnAddress: record.returnAddress) == .behindCall
    else { return nil }
    return record
  }

  private func startsChain(at slot: UInt64, in process: UnwindProcess) -> Bool {
    var slot = slot
    for _ in 0..<Self.chainLength {
      guard let record = record(at: slot, in: process), record.framePointer > slot else {
        return false
      }
      slot = record.framePointer
    }
    return true
  }
}
