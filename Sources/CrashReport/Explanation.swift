internal import ProcessSnapshot

/// Says in words what the dump shows of a crash's cause, and by which evidence.
///
/// Says nothing where nothing is known: an explanation that may be wrong costs more than none.
struct Explanation {
  let snapshot: ProcessSnapshot
  let frames: [CrashReport.Frame]

  init(of snapshot: ProcessSnapshot, frames: [CrashReport.Frame]) {
    self.snapshot = snapshot
    self.frames = frames
  }

  var text: String? {
    let resources = isForeign ? [] : CrashReport.Resources(snapshot).evidence
    let sentences = [cause].compactMap { $0 } + resources
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }

  /// True where nothing crashed, or another process ended this one: then nothing it ran out of is
  /// evidence.
  private var isForeign: Bool {
    guard let exception = snapshot.exception, exception.signal != nil else { return true }
    return exception.wasSent && !isOwnProcess(exception.sender)
  }

  private var cause: String? {
    guard let exception = snapshot.exception, let signal = exception.signal else { return nil }
    if exception.wasSent { return sent(exception, signal) }
    switch signal {
    case SignalNames.segmentation:
      return MemoryFault(exception: exception, snapshot: snapshot, frames: frames).text
    case SignalNames.bus: return busError(exception)
    case SignalNames.floatingPoint: return arithmetic(exception)
    case SignalNames.illegal, SignalNames.trap: return trap(exception, signal)
    case SignalNames.systemCall:
      return exception.systemCall.map(systemCall)
    case SignalNames.processorTime:
      return "The process used up the CPU time that its limit (RLIMIT_CPU) allows."
    case SignalNames.fileSize:
      return "A write would have made a file larger than the process' limit (RLIMIT_FSIZE) allows."
    default: return nil
    }
  }

  private func systemCall(_ call: ExceptionSnapshot.TrappedSystemCall) -> String {
    let name = CrashReport.SystemCall(call).name.map { " (\($0))" } ?? ""
    return "System call number \(call.number)\(name) is not allowed by a seccomp filter of this"
      + " process."
  }

  private func sent(_ exception: ExceptionSnapshot, _ signal: Int32) -> String? {
    if signal == SignalNames.fileSize, exception.code == 0, isOwnProcess(exception.sender) {
      // The kernel sends it with the code of kill().
      return "A write would have made a file larger than the process' limit (RLIMIT_FSIZE) allows."
    }
    let name = SignalNames.name(signal) ?? "signal \(signal)"
    guard let sender = exception.sender else {
      return "The signal \(name) was sent; the kernel did not record by whom. It is not a fault."
    }
    // A process ID of 0 is one that this PID namespace cannot see.
    if sender.processID == 0 {
      return "The signal \(name) was sent by user \(sender.userID) from a process outside this PID"
        + " namespace. It is not a fault."
    }
    guard isOwnProcess(sender) else {
      return "The signal \(name) was sent by process \(sender.processID) of user \(sender.userID)."
        + " It is not a fault."
    }
    if signal == SignalNames.pipe {
      return "A write to a pipe or socket that nobody reads any more."
    }
    guard signal == SignalNames.abort else {
      return "The process sent the signal \(name) to itself. It is not a fault."
    }
    if exception.fatalMessage?.trimmed.isEmpty == false {
      return "The Swift runtime stopped the process: it left a message and called abort()."
    }
    if exception.abortMessage?.trimmed.isEmpty == false {
      return "The C library or a failed assertion ended the process: it left a message and called"
        + " abort()."
    }
    return "The process ended itself with SIGABRT, as abort() does."
  }

  private func isOwnProcess(_ sender: ExceptionSnapshot.Sender?) -> Bool {
    guard let sender, let own = snapshot.process.processID else { return false }
    return Int64(sender.processID) == Int64(own)
  }

  private func busError(_ exception: ExceptionSnapshot) -> String? {
    switch exception.code {
    case 1: return "An access to a misaligned address, on an instruction that does not allow it."
    case 2:
      guard let address = exception.address,
        let mapping = snapshot.mapping(containing: address), mapping.path.hasPrefix("/")
      else { return "An access to an address that exists but has no memory behind it." }
      return "An access to \(HexAddress(address)) in the mapped file \(mapping.path), behind the"
        + " end of the file or where it could not be read. The file may have been truncated."
    case 4, 5: return "The hardware reported a memory error at the address."
    default: return nil
    }
  }

  private func arithmetic(_ exception: ExceptionSnapshot) -> String? {
    switch exception.code ?? 0 {
    case 1:
      // The processor reports a quotient that does not fit in the same way.
      return "An integer division by zero, or of the smallest integer by -1."
    case 2: return "An integer overflow that traps."
    case 3: return "A floating-point division by zero, with that exception unmasked."
    case 4...8: return "A floating-point operation with an unmasked exception."
    default: return nil
    }
  }

  private func trap(_ exception: ExceptionSnapshot, _ signal: Int32) -> String? {
    if exception.fatalMessage?.trimmed.isEmpty == false {
      return "The Swift runtime stopped the process: it left a message and executed a trap."
    }
    if let message = RuntimeFailure.message(of: frames) {
      return "A check of Swift failed: \(message). This is inferred from debug information, which"
        + " names the trap so; the program itself left no message."
    }
    guard let instruction = instruction(exception) else { return nil }
    switch instruction {
    case .undefined:
      return "A trap instruction was executed (\(instruction.rawValue)), as compilers emit for"
        + " failed checks, code that cannot be reached, and __builtin_trap()."
    case .breakpoint:
      return "A breakpoint instruction was executed (\(instruction.rawValue))."
    case .other:
      return signal == SignalNames.illegal
        ? "The processor does not know the instruction at \(instructionPointerText(exception))."
        : nil
    }
  }

  private enum Instruction: String {
    case undefined = "ud2 or brk"
    case breakpoint = "int3"
    case other
  }

  /// The instruction that trapped; nil where its bytes are not in the dump.
  private func instruction(_ exception: ExceptionSnapshot) -> Instruction? {
    guard let address = exception.context?.instructionPointer else { return nil }
    let memory = snapshot.memory
    switch snapshot.architecture {
    case .x86_64:
      // After int3 the instruction pointer is behind it; at ud2 it is on it.
      if exception.signal == SignalNames.trap {
        return memory.bytes(at: address &- 1, count: 1)?.first == 0xCC ? .breakpoint : nil
      }
      guard let code = memory.bytes(at: address, count: 2) else { return nil }
      return code.elementsEqual([0x0F, 0x0B]) ? .undefined : .other
    case .arm64:
      guard let code = memory.bytes(at: address, count: 4) else { return nil }
      let word = code.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      return word & 0xFFE0_001F == 0xD420_0000 ? .undefined : .other
    }
  }

  private func instructionPointerText(_ exception: ExceptionSnapshot) -> String {
    exception.context.map { HexAddress($0.instructionPointer).description } ?? "its address"
  }
}
