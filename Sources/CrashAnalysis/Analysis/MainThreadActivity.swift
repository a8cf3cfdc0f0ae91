internal import IntermediateDump
internal import ProcessSnapshot

/// What the main thread was doing when another process ended this one.
package enum MainThreadActivity: Sendable, Equatable {
  /// The thread was blocked in the system call with this number and name; the name is nil if it is not known.
  case blocked(Int, String?)
  /// The thread was sleeping, but the kernel does not show in which system call.
  case sleeping
  /// The signal interrupted a system call, and the thread is about to make this call again.
  case restarting(Int, String?)
  /// A system call has just returned EINTR.
  case interrupted
  case running
  /// The main thread received the signal itself, and was not in a system call.
  case computing

  /// Returns nil if the dump does not show what the main thread did.
  init?(of snapshot: ProcessSnapshot) {
    guard let id = snapshot.process.processID,
      let thread = snapshot.threads.first(where: { $0.id == id })
    else { return nil }
    // The thread that received the signal was captured while it ran. The code at its instruction pointer shows what the
    // thread did when the signal came. In a core file, the thread is still in its system call, whose number is known.
    let activity =
      snapshot.exception?.threadID == id
      ? Self.interrupted(thread, snapshot) : Self.blocked(thread, snapshot)
    guard let activity else { return nil }
    self = activity
  }

  private static func blocked(_ thread: ThreadSnapshot, _ snapshot: ProcessSnapshot) -> Self? {
    if let number = thread.systemCallNumber {
      return .blocked(number, snapshot.architecture.systemCallName(number))
    }
    return switch thread.state {
    case "R"?: .running
    case "S"?: .sleeping
    default: nil
    }
  }

  /// Determines from the machine code whether a signal interrupted a system call, and which one.
  ///
  /// After the signal handler returns, the thread either executes the instruction of the call again, or continues after
  /// this instruction with the result EINTR. So the instruction of the call is either at the instruction pointer or
  /// directly before it.
  ///
  /// Source: Linux arch/x86/kernel/signal.c, handle_signal; arch/arm64/kernel/signal.c, do_signal.
  private static func interrupted(_ thread: ThreadSnapshot, _ snapshot: ProcessSnapshot) -> Self? {
    if thread.systemCallNumber != nil { return blocked(thread, snapshot) }
    let call: [UInt8]
    let (place, number, result): (Address, UInt64, UInt64)
    switch thread.context {
    case .x86_64(let context)?:
      // The instruction syscall.
      call = [0x0F, 0x05]
      (place, number, result) = (Address(context.rip), context.rax, context.rax)
    case .arm64(let context)?:
      guard context.x.count > 8 else { return nil }
      // The bytes of the instruction `svc 0`.
      call = [0x01, 0, 0, 0xD4]
      (place, number, result) = (Address(context.pc), context.x[8], context.x[0])
    case nil: return nil
    }
    let size = UInt64(call.count)
    guard let code = snapshot.memory.bytes(at: place &- size, count: call.count * 2) else {
      return nil
    }
    if code.suffix(call.count).elementsEqual(call), number < 1024 {
      let number = Int(clamping: number)
      return .restarting(number, snapshot.architecture.systemCallName(number))
    }
    // In a sanitized report, the result of the call may have been replaced, so it is not known.
    if result == IntermediateDumpFormat.replacedWord { return nil }
    // The result -4 is -EINTR.
    if code.prefix(call.count).elementsEqual(call), Int64(bitPattern: result) == -4 {
      return .interrupted
    }
    return .computing
  }
}
