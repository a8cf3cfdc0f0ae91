internal import ProcessSnapshot

/// Looks for a return address among the words on the stack, as the last resort.
///
/// A word is used only if it is the address of a signal trampoline, or if the code before this address is known to end
/// in a call. The word may be left over from an earlier call that has returned, so such frames have the trust `scan`.
struct ScanMethod: UnwindMethod {
  /// The maximum number of words that are examined for one frame.
  ///
  /// These words take 16 KiB, which is more than the largest frame in glibc's abort.
  static let maximumWords: UInt64 = 2048
  /// The number of words below a return address in which the caller's frame pointer may be saved.
  ///
  /// These words can hold six saved registers and one word of padding.
  private static let savedRegisterWords: UInt64 = 7

  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard let stackPointer = state.registers.stackPointer, stackPointer.value % 8 == 0 else {
      return .unknown
    }
    // If the return address is known to be in a part of the stack that was not captured, every word below that part is
    // left over from an earlier call.
    let slot =
      CFIMethod().cfa(of: state, in: process).map { $0 &- 8 }
      ?? state.registers.framePointer.map { $0 &+ 8 }
    if let slot, slot >= stackPointer, process.isMissing(slot) { return .unknown }
    for index in 0..<Self.maximumWords {
      guard process.spend(1), let slot = stackPointer.adding(index &* 8) else { break }
      // A dump in a log contains only words that may matter, and the words between them are missing.
      guard let word = process.word(at: slot) else { continue }
      let address = process.codeAddress(word)
      if process.check(returnAddress: address) == .behindCall
        || SignalFrameMethod.isTrampoline(at: address, in: process)
      {
        let framePointer = framePointer(
          above: slot, from: stackPointer, current: state.registers.framePointer, process)
        return .caller(
          state.caller(at: address, stackPointer: slot &+ 8, framePointer: framePointer, .scan))
      }
    }
    return .unknown
  }

  /// Finds the frame pointer of the caller whose return address is at `slot`; nil if no candidate leads to a
  /// frame record.
  ///
  /// The candidates are the value of the frame pointer register, which may still be the caller's, and a few words below
  /// the return address, where the called function may have saved it.
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

/// Continues after a part of the stack that the handler left out because of a size limit, as in a deep recursion.
///
/// The method searches upward from the gap for a stack address from which three frames in a row can be found, by frame
/// pointers or by call frame information. The walk continues at the first such address. The number of frames in the
/// gap is not known.
struct GapMethod: UnwindMethod {
  /// The minimum number of frames in a row; a shorter chain could consist of stale words.
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
        return .caller(
          state.caller(
            at: record.returnAddress, stackPointer: slot &+ 16,
            framePointer: record.framePointer, .afterGap))
      }
      if let caller = described(at: slot, after: state, in: process) { return .caller(caller) }
    }
    return .unknown
  }

  /// Checks whether the frame's return address is stored in the gap.
  ///
  /// The frame pointer and call frame information each give an address at which it may be stored.
  private func leadsIntoGap(
    _ state: UnwindState, below end: Address, in process: UnwindProcess
  ) -> Bool {
    guard let stackPointer = state.registers.stackPointer else { return false }
    let slots = [
      state.registers.framePointer.map { $0 &+ 8 },
      CFIMethod().cfa(of: state, in: process).map { $0 &- 8 },
    ]
    return slots.contains { slot in
      guard let slot else { return false }
      return slot >= stackPointer && slot < end && process.word(at: slot) == nil
    }
  }

  /// Reads the frame whose return address is at a slot of the stack.
  ///
  /// The result is nil unless call frame information finds three callers in a row, starting from the stack pointer
  /// alone, so that a word that only looks like a return address is rarely accepted.
  private func described(
    at slot: Address, after state: UnwindState, in process: UnwindProcess
  ) -> UnwindState? {
    guard let word = process.word(at: slot) else { return nil }
    let address = process.codeAddress(word)
    guard process.check(returnAddress: address) == .behindCall else { return nil }
    let first = state.caller(
      at: address, stackPointer: slot &+ 8, framePointer: nil, .afterGap)
    var last = first
    for _ in 0..<Self.chainLength {
      guard case .caller(let next) = CFIMethod().step(from: last, in: process),
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
