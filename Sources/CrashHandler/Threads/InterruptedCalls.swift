internal import CSignalSafe

/// Tells the system call that a stop signal has interrupted by the registers of its thread.
///
/// The kernel goes back to the instruction of a call that it makes again after the handler, and puts
/// the call's number back. Of one that ends with EINTR, x86_64 keeps no number: the code in front of
/// the instruction loads it. Threads often wait in the same few places, so what was found at an
/// address is kept.
///
/// RUNS-DURING-CRASH. Source: Linux arch/x86/kernel/signal.c, handle_signal;
/// arch/arm64/kernel/signal.c, do_signal.
@safe
struct InterruptedCalls {
  /// Addresses that are kept.
  private static var capacity: Int { 64 }
  /// Bytes of code in front of the instruction pointer that are looked at.
  private static var codeSize: Int { 16 }

  /// Bytes of scratch memory that are used.
  static var scratchSize: Int { @_noLocks get { 2048 } }

  private let memory: SafeMemory
  /// Pairs of an address and what is there; see `Place`.
  private let kept: Scratch

  @_noLocks
  init(memory: SafeMemory, scratch: Scratch) {
    self.memory = memory
    kept = scratch
    var index = 0
    while index < InterruptedCalls.capacity {
      kept.setWord(index &* 16, 0)
      index &+= 1
    }
  }

  /// The call of a thread that was blocked; nil where nothing tells it.
  @_noLocks
  func call(_ context: SignalContext) -> InterruptedCall? {
    let number = context.systemCallNumber
    switch place(context.instructionPointer) {
    case .call:
      guard number < 1024 else { return nil }
      return InterruptedCall(number: number, isRepeated: true, isInferred: false)
    case .behindCall:
      #if arch(arm64)
        guard number < 1024 else { return nil }
        return InterruptedCall(number: number, isRepeated: false, isInferred: true)
      #else
        return nil
      #endif
    case .behindNumbered(let number):
      return InterruptedCall(number: number, isRepeated: false, isInferred: true)
    case .other: return nil
    }
  }

  /// True if the signal has taken the thread out of a call that it waited in: one that the kernel
  /// makes again, or that has ended with EINTR.
  @_noLocks
  func isWaiting(_ context: SignalContext) -> Bool {
    switch place(context.instructionPointer) {
    case .call: context.systemCallNumber < 1024
    case .behindCall, .behindNumbered: context.systemCallResult == Int64(-EINTR)
    case .other: false
    }
  }

  /// The code at an instruction pointer.
  private enum Place {
    case other
    /// The instruction that makes a call.
    case call
    /// It stands right behind one.
    case behindCall
    case behindNumbered(UInt64)

    @_noLocks
    init(word: UInt64) {
      switch word {
      case 0: self = .other
      case 1: self = .call
      case 2: self = .behindCall
      default: self = .behindNumbered(word &- 3)
      }
    }

    var word: UInt64 {
      @_noLocks get {
        switch self {
        case .other: 0
        case .call: 1
        case .behindCall: 2
        case .behindNumbered(let number): number &+ 3
        }
      }
    }
  }

  @inline(never)
  private func place(_ address: UInt64) -> Place {
    let index = Int(truncatingIfNeeded: address ^ address &>> 8) & (InterruptedCalls.capacity &- 1)
    if address != 0, kept.word(index &* 16) == address {
      return Place(word: kept.word(index &* 16 &+ 8))
    }
    let place = look(address)
    kept.setWord(index &* 16, address)
    kept.setWord(index &* 16 &+ 8, place.word)
    return place
  }

  /// Reads the code around an address.
  private func look(_ address: UInt64) -> Place {
    let size = InterruptedCalls.codeSize
    let scratch = kept.dropFirst(InterruptedCalls.capacity &* 16)
    let start = address &- UInt64(truncatingIfNeeded: size)
    let count = memory.copy(start, to: scratch, count: size &+ 4)
    let code = scratch.bytes(count: count)
    #if arch(arm64)
      // svc 0
      if isCall(code, at: size, 0xD400_0001) { return .call }
      return isCall(code, at: size &- 4, 0xD400_0001) ? .behindCall : .other
    #else
      // syscall
      if isCall(code, at: size) { return .call }
      guard isCall(code, at: size &- 2) else { return .other }
      // mov $number, %eax; at most one instruction lies behind it. The same byte behind a prefix
      // loads another register.
      var offset = size &- 7
      while offset > 0 {
        if code[offset] == 0xB8, code[offset &- 1] & 0xF0 != 0x40, code[offset &+ 3] == 0,
          code[offset &+ 4] == 0, code[offset &+ 2] < 4
        {
          return .behindNumbered(UInt64(code[offset &+ 1]) | UInt64(code[offset &+ 2]) &<< 8)
        }
        offset &-= 1
      }
      return .behindCall
    #endif
  }

  #if arch(arm64)
    private func isCall(_ code: Bytes, at offset: Int, _ instruction: UInt32) -> Bool {
      UInt32(truncatingIfNeeded: code.word(offset &- 4) &>> 32) == instruction
    }
  #else
    private func isCall(_ code: Bytes, at offset: Int) -> Bool {
      code[offset] == 0x0F && code[offset &+ 1] == 0x05
    }
  #endif
}

/// A system call that a signal has interrupted.
///
/// RUNS-DURING-CRASH.
struct InterruptedCall {
  fileprivate let number: UInt64
  /// True if the kernel makes it again after the handler: the arguments are as they were.
  fileprivate let isRepeated: Bool
  let isInferred: Bool

  /// Appends the line of proc_pid_syscall(5): number, arguments, stack and instruction pointer; the
  /// number alone where the call's result has replaced an argument.
  @_noLocks
  func write(_ context: SignalContext, to text: inout TextBuffer) {
    writeNumber(to: &text)
    guard isRepeated || SignalContext.keepsArguments else { return }
    // By constants: the audit cannot follow the table of a switch out of which a loop has moved a part.
    append(context.systemCallArgument(0), to: &text)
    append(context.systemCallArgument(1), to: &text)
    append(context.systemCallArgument(2), to: &text)
    append(context.systemCallArgument(3), to: &text)
    append(context.systemCallArgument(4), to: &text)
    append(context.systemCallArgument(5), to: &text)
    append(context.stackPointer, to: &text)
    let size: UInt64 = SignalContext.keepsArguments ? 2 : 4
    append(context.instructionPointer &+ (isRepeated ? size : 0), to: &text)
  }

  @_noLocks
  func writeNumber(to text: inout TextBuffer) {
    text.append(decimal: Int64(truncatingIfNeeded: number))
  }

  // One in place of nine: inlined, the loop becomes a jump that the audit cannot follow.
  private func append(_ value: UInt64, to text: inout TextBuffer) {
    text.append(" 0x")
    text.append(hexadecimal: value)
  }
}
