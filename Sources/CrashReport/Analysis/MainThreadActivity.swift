internal import ProcessSnapshot

/// The main thread's state when the process was ended from outside.
package enum MainThreadActivity: Sendable, Equatable {
  /// Blocked in a system call; the name is nil for one that is not known.
  case blocked(Int, String?)
  /// The kernel shows that the thread sleeps, but not in which call.
  case sleeping
  /// The signal interrupted a system call, which is about to be made again.
  case restarting(Int, String?)
  /// A system call has just ended with EINTR.
  case interrupted
  case running
  /// The thread took the signal itself, and was not in a system call.
  case computing

  /// Returns nil if the dump does not show it.
  init?(of snapshot: ProcessSnapshot) {
    guard let id = snapshot.process.processID,
      let thread = snapshot.threads.first(where: { $0.id == id })
    else { return nil }
    // The thread that took the signal was running when it was captured; its code shows what it did before. In a core
    // file, the thread is still in its call.
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

  /// The kernel returns to the instruction, to make the call again after the handler, or the call returns EINTR.
  ///
  /// Source: Linux arch/x86/kernel/signal.c, handle_signal; arch/arm64/kernel/signal.c, do_signal.
  private static func interrupted(_ thread: ThreadSnapshot, _ snapshot: ProcessSnapshot) -> Self? {
    if thread.systemCallNumber != nil { return blocked(thread, snapshot) }
    let call: [UInt8]
    let (place, number, result): (Address, UInt64, UInt64)
    switch thread.context {
    case .x86_64(let context)?:
      // syscall
      call = [0x0F, 0x05]
      (place, number, result) = (Address(context.rip), context.rax, context.rax)
    case .arm64(let context)?:
      guard context.x.count > 8 else { return nil }
      // svc 0
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
    // A sanitized report does not have the result.
    if result == ProcessSnapshot.replacedWord { return nil }
    // -EINTR
    if code.prefix(call.count).elementsEqual(call), Int64(bitPattern: result) == -4 {
      return .interrupted
    }
    return .computing
  }
}
