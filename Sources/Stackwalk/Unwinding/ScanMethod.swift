internal import ProcessSnapshot

/// Looks for the caller among the words on the stack: the last resort where no frame pointer is
/// kept.
///
/// A word counts only if the code before the address it holds is known and ends in a call. It may
/// still be left over from a call that returned long ago, which is why such frames are marked.
struct ScanMethod: UnwindMethod {
  /// Words looked at for one frame: 16 KiB, more than glibc's largest frame on the way to abort.
  static let maximumWords: UInt64 = 2048
  /// Words below a return address that may hold the caller's frame pointer: six saved registers and
  /// one of padding.
  private static let savedRegisterWords: UInt64 = 7

  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard let stackPointer = state.registers.stackPointer, stackPointer.value % 8 == 0 else {
      return .unknown
    }
    for index in 0..<Self.maximumWords {
      // A stack is captured piece by piece, and what was not captured ends the scan.
      guard process.spend(1), let slot = stackPointer.adding(index &* 8),
        let word = process.word(at: slot)
      else { break }
      let address = process.codeAddress(word)
      if process.check(returnAddress: address) == .behindCall
        || SignalFrameMethod.isTrampoline(at: address, in: process)
      {
        let registers = state.registers.caller(
          programCounter: address, stackPointer: slot &+ 8,
          framePointer: framePointer(
            above: slot, from: stackPointer, current: state.registers.framePointer, process))
        return .caller(UnwindState(registers: registers, trust: .scan, isReturnAddress: true))
      }
    }
    return .unknown
  }

  /// The frame pointer of the caller whose return address lies at `slot`.
  ///
  /// It is the one in the register if the callee left that alone, else the one that the callee
  /// saved right below the return address; nil if neither leads to a record.
  private func framePointer(
    above slot: Address, from stackPointer: Address, current: Address?, _ process: UnwindProcess
  ) -> Address? {
    func leadsToRecord(_ candidate: Address) -> Bool {
      guard let record = FrameRecord(at: candidate, notBelow: slot &+ 8, in: process) else {
        return false
      }
      return record.isPlausible(in: process)
    }
    if let current, leadsToRecord(current) { return current }
    var saved = slot
    for _ in 0..<Self.savedRegisterWords {
      guard let below = saved.subtracting(8), below >= stackPointer else { break }
      saved = below
      if let word = process.word(at: saved), leadsToRecord(Address(word)) { return Address(word) }
    }
    return nil
  }
}
