internal import IntermediateDump
internal import ProcessSnapshot

/// Recognizes a core file that a debugger wrote while the process was stopped, for example at a breakpoint.
///
/// The kernel reports breakpoints and single steps to a debugger with SIGTRAP; without the debugger, this signal would
/// have ended the process. SIGTRAP means a crash only if the instruction that raised it is a trap instruction in the
/// core file. Such an instruction belongs to the program: if a debugger writes the core file, the file contains the
/// original instructions instead of the debugger's breakpoints.
struct DebuggerStop {
  private static let trapSignal: Int32 = 5

  /// True for a SIGTRAP if no trap instruction of the program raised it, or if the code at the instruction pointer is
  /// not known.
  static func isFound(in snapshot: ProcessSnapshot) -> Bool {
    guard snapshot.exception?.signal == trapSignal,
      let place = snapshot.exception?.context?.instructionPointer
    else { return false }
    switch snapshot.architecture {
    case .x86_64:
      // After `int3`, the instruction pointer is past the instruction, so the byte before it is examined.
      return snapshot.memory.bytes(at: place &- 1, count: 1)?.first != 0xCC
    case .arm64:
      // At `brk`, the instruction pointer stays at the instruction.
      let code = snapshot.memory.bytes(at: place, count: 4)?.littleEndian(at: 0, width: 4)
      return code.map { $0 & 0xFFE0_001F } != 0xD420_0000
    }
  }

  /// Changes the snapshot so that reports show a process that no signal ended.
  static func note(in snapshot: inout ProcessSnapshot) {
    guard let crash = snapshot.exception else { return }
    var stop = ExceptionSnapshot(threadID: crash.threadID)
    stop.context = crash.context
    snapshot.exception = stop
    var request = DumpRequest()
    request.kind = .coreFile
    snapshot.request = request
  }
}
