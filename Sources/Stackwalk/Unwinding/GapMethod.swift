internal import ProcessSnapshot

/// Goes on above a part of the stack that the handler's cap left out.
///
/// Of a deep recursion a dump holds the innermost and the outermost frames. Where the caller's
/// frame lies in the part between, the lowest place above it is taken up from which three frames
/// follow each other, by frame pointers or by call frame information; how many frames lie between is
/// not known.
struct GapMethod: UnwindMethod {
  /// Frames that must follow each other, so that stale words are not taken for a chain.
  private static let chainLength = 3

  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard let stackPointer = state.registers.stackPointer,
      let part = process.partBehindGap(after: stackPointer),
      leadsIntoGap(state, below: part.address, in: process)
    else { return .unknown }
    var next = part.address.alignedUp(to: 8)
    while let slot = next, part.range.contains(slot), process.spend(1) {
      next = slot.adding(8)
      if startsChain(at: slot, in: process), let record = record(at: slot, in: process) {
        let registers = state.registers.caller(
          programCounter: record.returnAddress, stackPointer: slot &+ 16,
          framePointer: record.framePointer)
        return .caller(
          UnwindState(registers: registers, trust: .afterGap, isReturnAddress: true))
      }
      if let caller = described(at: slot, after: state, in: process) { return .caller(caller) }
    }
    return .unknown
  }

  /// Whether the return address lies in the part that was left out, by the frame pointer or by call
  /// frame information.
  private func leadsIntoGap(
    _ state: UnwindState, below end: Address, in process: UnwindProcess
  ) -> Bool {
    guard let stackPointer = state.registers.stackPointer else { return false }
    let slots = [
      state.registers.framePointer.map { $0 &+ 8 },
      CallFrameMethod().frameAddress(of: state, in: process).map { $0 &- 8 },
    ]
    return slots.contains { slot in
      guard let slot else { return false }
      return slot >= stackPointer && slot < end && process.word(at: slot) == nil
    }
  }

  /// A frame whose return address lies at a slot and from which call frame information alone leads
  /// on, without any other register.
  private func described(
    at slot: Address, after state: UnwindState, in process: UnwindProcess
  ) -> UnwindState? {
    guard let word = process.word(at: slot) else { return nil }
    let address = process.codeAddress(word)
    guard process.check(returnAddress: address) == .behindCall else { return nil }
    let registers = state.registers.caller(
      programCounter: address, stackPointer: slot &+ 8, framePointer: nil)
    let first = UnwindState(registers: registers, trust: .afterGap, isReturnAddress: true)
    var last = first
    for _ in 0..<Self.chainLength {
      guard case .caller(let next) = CallFrameMethod().step(from: last, in: process),
        let old = last.registers.stackPointer, let new = next.registers.stackPointer, new > old
      else { return nil }
      last = next
    }
    return first
  }

  private func record(at slot: Address, in process: UnwindProcess) -> FrameRecord? {
    guard let record = FrameRecord(at: slot, notBelow: slot, in: process),
      process.check(returnAddress: record.returnAddress) == .behindCall
    else { return nil }
    return record
  }

  private func startsChain(at slot: Address, in process: UnwindProcess) -> Bool {
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
