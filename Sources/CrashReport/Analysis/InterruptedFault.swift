internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// A fault that a handler of the program received first, and that the handler raised again.
///
/// Examples are Python's faulthandler, abseil and glog. The kernel's siginfo and the registers of the fault are then in
/// the signal frame of that handler, further out on the stack.
struct InterruptedFault {
  /// The process with the fault as its exception.
  let snapshot: ProcessSnapshot
  /// The stack from the faulting call on.
  let trace: StackTrace
  /// The function that received the signal first, or its module; nil if neither is known.
  let handler: String?

  /// - Parameter trace: the stack of the thread that raised the signal.
  /// - Returns: nil unless the thread raised the signal of an earlier fault, which is in the dump.
  init?(of snapshot: ProcessSnapshot, trace: StackTrace) {
    guard let exception = snapshot.exception, exception.wasSent,
      snapshot.isOwnProcess(exception.sender)
    else { return nil }
    for (index, frame) in trace.frames.enumerated() where frame.trust == .signalFrame {
      guard index > 0, let pointer = trace.frames[index - 1].stackPointer,
        let fault = Self.fault(at: pointer, in: snapshot, exception)
      else { continue }
      var interrupted = snapshot
      interrupted.exception = fault
      var rest = trace
      rest.frames.removeFirst(index)
      rest.omittedAfter = max(0, trace.omittedAfter - index)
      rest.recursion = nil
      (self.snapshot, self.trace) = (interrupted, rest)
      let outermost = trace.frames[..<(index - 1)].last
      handler = outermost.flatMap {
        $0.function.map(FunctionName.short) ?? snapshot.modules.module(of: $0)?.name
      }
      return
    }
    return nil
  }

  /// The fault in a signal frame; nil if the frame is that of another signal.
  ///
  /// Source: Linux `struct rt_sigframe` and `struct ucontext` of arch/x86 and arch/arm64.
  ///
  /// - Parameter pointer: the stack pointer to which the handler returns.
  private static func fault(
    at pointer: Address, in snapshot: ProcessSnapshot, _ exception: ExceptionSnapshot
  ) -> ExceptionSnapshot? {
    let offsets: (info: UInt64, registers: UInt64, words: Int) =
      snapshot.architecture == .x86_64 ? (304, 40, 23) : (0, 128 + 176 + 8, 34)
    guard let info = snapshot.memory.bytes(at: pointer &+ offsets.info, count: 128),
      let words = snapshot.memory.bytes(
        at: pointer &+ offsets.registers, count: offsets.words * 8),
      let signal = info.littleEndian(at: 0, as: Int32.self), signal == exception.signal,
      let code = info.littleEndian(at: 8, as: Int32.self),
      code > 0
    else { return nil }
    var fault = exception
    (fault.code, fault.signalInfo, fault.senderName) = (code, Array(info), nil)
    fault.address =
      ExceptionSnapshot.hasAddress(signal: signal, code: code)
      ? info.littleEndian(at: 16, width: 8).map { Address($0) } : nil
    fault.context = CPUContext(
      architecture: snapshot.architecture, generalRegisters: words, floatingPointState: nil)
    (fault.trapNumber, fault.trapErrorCode) = (nil, nil)
    if snapshot.architecture == .x86_64 {
      fault.trapErrorCode = words.littleEndian(at: 19 * 8, width: 8)
      fault.trapNumber = words.littleEndian(at: 20 * 8, width: 8)
    }
    return fault
  }
}
