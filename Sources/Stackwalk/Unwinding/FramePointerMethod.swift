internal import ProcessSnapshot

/// Follows the chain of saved frame pointers.
///
/// If a function is known to create no frame record, this method is not used. The frame pointer then belongs to an
/// outer function, and following it would silently omit callers. If a module's file has neither unwind tables nor the
/// function's code, for example because only its debug file was found, the caller is a guess, like one of `ScanMethod`.
///
/// Source: System V ABI AMD64 supplement, 3.2.2; AAPCS64, 6.2.3.
struct FramePointerMethod: UnwindMethod {
  func step(from state: UnwindState, in process: UnwindProcess) -> UnwindStep {
    guard let lookup = state.lookupAddress, let framePointer = state.registers.framePointer,
      let stackPointer = state.registers.stackPointer
    else { return .unknown }
    let setup = process.frameSetup(around: lookup)
    if setup == .absent { return .unknown }
    guard let record = FrameRecord(at: framePointer, notBelow: stackPointer, in: process) else {
      return .unknown
    }
    if record.returnAddress == 0 && record.framePointer == 0 { return .bottom }
    guard record.isPlausible(in: process) else { return .unknown }
    let isGuess = setup == .unknown && process.lacksTables(at: lookup)
    return .caller(
      state.caller(
        at: record.returnAddress, stackPointer: framePointer &+ 16,
        framePointer: record.framePointer, isGuess ? .scan : .framePointer))
  }
}

/// A frame record, which on both architectures consists of the caller's frame pointer and the return address.
struct FrameRecord {
  let framePointer: Address
  let returnAddress: Address

  /// Reads the frame record at an address; nil if it is misaligned, below the stack pointer, on another stack or not
  /// captured.
  ///
  /// A stack pointer outside captured memory usually means a stack overflow. In this case, the captured stack that
  /// contains the record is used.
  init?(at address: Address, notBelow stackPointer: Address, in process: UnwindProcess) {
    guard address.value % 8 == 0, address >= stackPointer,
      let stack = process.stack(around: stackPointer) ?? process.stack(around: address),
      stack.contains(address),
      let framePointer = process.word(at: address), let next = address.adding(8),
      let target = process.word(at: next)
    else { return nil }
    self.framePointer = Self.withoutMark(Address(framePointer))
    returnAddress = process.codeAddress(target)
  }

  /// Clears bit 60 of a frame pointer, which may be set to mark the frame record of an asynchronous Swift function.
  ///
  /// Source: LLVM, `SwiftAsyncFramePointerMode`.
  static func withoutMark(_ framePointer: Address) -> Address {
    Address(framePointer.value & ~(1 << 60))
  }

  /// Checks that the return address follows a call, is in code that neither the dump nor a file contains, or is a
  /// signal trampoline.
  func isPlausible(in process: UnwindProcess) -> Bool {
    process.check(returnAddress: returnAddress) != .notBehindCall
      || SignalFrameMethod.isTrampoline(at: returnAddress, in: process)
  }
}
