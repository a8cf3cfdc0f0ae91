internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// A fault that a handler of the program received first, and that the handler raised again.
///
/// Examples are Python's faulthandler, abseil and glog. If the handler did not block the signal, the registers of the
/// fault are in the handler's signal frame, further out on the stack, and so is the kernel's siginfo if the handler asked
/// for it (SA_SIGINFO). If the handler blocked the signal, the signal arrived again when the handler had returned to the
/// faulting instruction.
struct InterruptedFault {
  /// The process with the fault as its exception.
  let snapshot: ProcessSnapshot
  /// The stack from the faulting call on.
  let trace: StackTrace
  /// The function that received the signal first, or its module; nil if neither is known.
  let handler: String?
  /// True if the dump contains the kernel's siginfo about the fault.
  let isRecorded: Bool

  /// - Parameters:
  ///   - trace: the stack of the thread that raised the signal.
  ///   - symbols: opens the files of the modules, to read code that is not in the dump.
  /// - Returns: nil unless the thread raised or sent the signal of an earlier fault, which the dump shows.
  init?(of snapshot: ProcessSnapshot, trace: StackTrace, symbols: SymbolSource? = nil) {
    guard let exception = snapshot.exception else { return nil }
    let code = CodeReader(snapshot: snapshot, symbols: symbols)
    let isSent = exception.wasSent && snapshot.isOwnProcess(exception.sender)
    guard isSent || Self.isRepeated(exception, code) else { return nil }
    var interrupted = snapshot
    if isSent, let fault = Self.fault(of: exception, in: snapshot, code) {
      interrupted.exception = fault
      (self.snapshot, self.trace, handler, isRecorded) = (interrupted, trace, nil, false)
      return
    }
    for (index, frame) in trace.frames.enumerated() where frame.trust == .signalFrame {
      guard index > 0, let pointer = trace.frames[index - 1].stackPointer,
        let (fault, isRecorded) = Self.fault(at: pointer, in: snapshot, exception),
        isSent || isRecorded && (fault.code, fault.address) == (exception.code, exception.address)
      else { continue }
      interrupted.exception = fault
      interrupted.setStack(around: trace.frames[index].stackPointer)
      var rest = trace
      rest.frames.removeFirst(index)
      rest.omittedAfter = max(0, trace.omittedAfter - index)
      rest.recursion = nil
      (self.snapshot, self.trace, self.isRecorded) = (interrupted, rest, isRecorded)
      let outermost = trace.frames[..<(index - 1)].last
      handler = outermost.flatMap { frame in
        let module = snapshot.modules.module(of: frame)?.name
        // The handler may have called the function that raises the signal by a tail call.
        if let module, module.hasPrefix("libc.so") { return nil }
        return frame.function.map(FunctionName.short) ?? module
      }
      return
    }
    return nil
  }
}

// MARK: - A signal that was sent with the siginfo of a fault

extension InterruptedFault {
  /// True for a signal with the siginfo of a fault that arrived at the end of a system call, which raises no such signal:
  /// a handler has sent it with rt_tgsigqueueinfo(2).
  private static func isRepeated(_ exception: ExceptionSnapshot, _ code: CodeReader) -> Bool {
    guard exception.code.map({ $0 > 0 }) ?? false, exception.signal != SIGSYS,
      exception.signal != SIGTRAP, let context = exception.context
    else { return false }
    let place = context.instructionPointer
    return switch context {
    case .x86_64: code.bytes(at: place &- 2, count: 2) == [0x0F, 0x05]
    case .arm64: code.bytes(at: place &- 4, count: 4) == [0x01, 0, 0, 0xD4]
    }
  }
}

// MARK: - The handler's signal frame

extension InterruptedFault {
  /// The fault in a signal frame, and whether its siginfo is there; nil if the frame is that of another signal.
  ///
  /// Source: Linux `struct rt_sigframe`, `struct ucontext` and `struct sigcontext` of arch/x86 and arch/arm64. The kernel
  /// writes the siginfo only for a handler with SA_SIGINFO.
  ///
  /// - Parameter pointer: the stack pointer to which the handler returns.
  private static func fault(
    at pointer: Address, in snapshot: ProcessSnapshot, _ exception: ExceptionSnapshot
  ) -> (ExceptionSnapshot, isRecorded: Bool)? {
    let isX86 = snapshot.architecture == .x86_64
    let offsets: (info: UInt64, registers: UInt64, words: Int) =
      isX86 ? (304, 40, 23) : (0, 128 + 176 + 8, 34)
    guard
      let words = snapshot.memory.bytes(
        at: pointer &+ offsets.registers, count: offsets.words * 8)
    else { return nil }
    var fault = exception
    (fault.trapNumber, fault.trapErrorCode, fault.senderName) = (nil, nil, nil)
    fault.context = CPUContext(
      architecture: snapshot.architecture, generalRegisters: words, floatingPointState: nil)
    if isX86 {
      fault.trapErrorCode = words.littleEndian(at: 19 * 8, width: 8)
      fault.trapNumber = words.littleEndian(at: 20 * 8, width: 8)
    }
    if let info = snapshot.memory.bytes(at: pointer &+ offsets.info, count: 128),
      let signal = info.littleEndian(at: 0, as: Int32.self), signal == exception.signal,
      let code = info.littleEndian(at: 8, as: Int32.self), code > 0
    {
      (fault.code, fault.signalInfo) = (code, Array(info))
      fault.address =
        ExceptionSnapshot.hasAddress(signal: signal, code: code)
        ? info.littleEndian(at: 16, width: 8).map { Address($0) } : nil
      return (fault, true)
    }
    // Without the siginfo, the register CR2 or the word that precedes the registers has the address of the fault.
    guard exception.signal == SIGSEGV else { return nil }
    if isX86, fault.trapNumber == 13 {
      (fault.code, fault.address, fault.signalInfo) = (ExceptionSnapshot.kernelCode, nil, nil)
      return (fault, false)
    }
    guard !isX86 || fault.trapNumber == 14,
      let address = isX86
        ? words.littleEndian(at: 22 * 8, width: 8)
        : snapshot.memory.word(at: pointer &+ offsets.registers &- 8)
    else { return nil }
    fault.set(address: Address(address), in: snapshot)
    return (fault, false)
  }
}

// MARK: - A signal that was blocked in the handler

extension InterruptedFault {
  /// The fault that the interrupted instruction raises; nil if it raises none.
  ///
  /// The handler returned to this instruction, and the signal that it had raised arrived before the instruction was
  /// executed again.
  private static func fault(
    of exception: ExceptionSnapshot, in snapshot: ProcessSnapshot, _ code: CodeReader
  ) -> ExceptionSnapshot? {
    guard let context = exception.context else { return nil }
    var fault = exception
    (fault.senderName, fault.signalInfo) = (nil, nil)
    let place = context.instructionPointer
    if exception.signal == SIGILL, snapshot.architecture == .x86_64,
      code.bytes(at: place, count: 2) == [0x0F, 0x0B]
    {
      (fault.code, fault.address) = (Int32(clamping: ILL_ILLOPN), place)
      return fault
    }
    guard exception.signal == SIGSEGV, !snapshot.mappings.isEmpty else { return nil }
    if snapshot.mapping(containing: place)?.protection.contains(.execute) != true {
      fault.set(address: place, in: snapshot)
      return fault
    }
    let registers = Dictionary(
      context.generalRegisters, uniquingKeysWith: { first, _ in first })
    let addresses = (MemoryOperand.all(at: context, code) ?? [])
      .filter { $0.registers.allSatisfy { registers[$0] != IntermediateDumpFormat.replacedWord } }
      .flatMap { $0.addresses { registers[$0] }.prefix(1) }
    guard
      let address = addresses.first(where: {
        snapshot.mapping(containing: $0)?.protection.contains(.read) != true
      })
    else { return nil }
    if snapshot.architecture == .x86_64, !snapshot.isCanonical(address) {
      (fault.code, fault.address) = (ExceptionSnapshot.kernelCode, nil)
    } else {
      fault.set(address: address, in: snapshot)
    }
    return fault
  }
}

extension ProcessSnapshot {
  /// Makes the stack on which the fault was the stack of the crashed thread, whose handler ran on an alternate stack.
  fileprivate mutating func setStack(around pointer: Address?) {
    guard let pointer, let index = threads.firstIndex(where: { $0.id == exception?.threadID }),
      threads[index].stackRange?.contains(pointer) == false,
      // After an overflow, the stack pointer is below the stack.
      let stack = mappings.first(where: {
        !$0.range.ends(atOrBelow: pointer) && $0.protection.contains(.write)
      })
    else { return }
    threads[index].stackRange = stack.range
  }
}

extension ExceptionSnapshot {
  /// Sets the address of a fault, with the code that the kernel reports for it.
  fileprivate mutating func set(address: Address, in snapshot: ProcessSnapshot) {
    let isMapped = snapshot.mapping(containing: address) != nil
    (self.address, signalInfo) = (address, nil)
    code = Int32(clamping: isMapped ? SEGV_ACCERR : SEGV_MAPERR)
  }
}
