internal import ProcessSnapshot

/// Whether the main thread waited or ran when the process was ended from outside.
struct MainThreadActivity {
  let text: String
  let evidence: String

  /// Nil where the dump does not tell.
  init?(of snapshot: ProcessSnapshot) {
    guard let id = snapshot.process.processID,
      let thread = snapshot.threads.first(where: { $0.id == id })
    else { return nil }
    // The signal's own thread ran when it was captured; what it did before, its code tells.
    let waitsIn =
      snapshot.exception?.threadID == id
      ? Self.interruptedCall(thread, snapshot) : Self.blockedCall(thread, snapshot)
    switch waitsIn {
    case .call(let name, let fact):
      text = "The main thread was idle, in \(name)."
      evidence = "main thread \(id): \(fact)"
    case .running(let fact):
      text = "The main thread was busy."
      evidence = "main thread \(id): \(fact)"
    case .unknown: return nil
    }
  }

  private enum Activity {
    case call(name: String, fact: String)
    case running(fact: String)
    case unknown
  }

  private static func name(_ number: Int, _ snapshot: ProcessSnapshot) -> String {
    CrashReport.SystemCall(number: number, architecture: snapshot.architecture).name
      ?? "system call \(number)"
  }

  private static func blockedCall(_ thread: ThreadSnapshot, _ snapshot: ProcessSnapshot) -> Activity
  {
    if let number = thread.systemCallNumber {
      return .call(
        name: name(number, snapshot), fact: "blocked in system call \(number)")
    }
    return switch thread.state {
    case "R"?: .running(fact: "state R")
    case "S"?: .call(name: "a system call", fact: "state S")
    default: .unknown
    }
  }

  /// A system call that the signal broke off.
  ///
  /// The kernel goes back to the instruction, to make it again after the handler, or answers EINTR.
  /// Source: Linux arch/x86/kernel/signal.c, handle_signal; arch/arm64/kernel/signal.c, do_signal.
  private static func interruptedCall(
    _ thread: ThreadSnapshot, _ snapshot: ProcessSnapshot
  ) -> Activity {
    let memory = snapshot.memory
    switch thread.context {
    case .x86_64(let context)?:
      guard let code = memory.bytes(at: Address(context.rip) &- 2, count: 4).map(Array.init) else {
        return .unknown
      }
      let call: [UInt8] = [0x0F, 0x05]
      if code[2...].elementsEqual(call), context.rax < 1024 {
        let name = name(Int(clamping: context.rax), snapshot)
        return .call(name: name, fact: "about to make system call \(context.rax) again")
      }
      if code[..<2].elementsEqual(call), Int64(bitPattern: context.rax) == -4 {
        return .call(name: "a system call", fact: "a system call ended with EINTR")
      }
      return .running(fact: "not at a system call")
    case .arm64(let context)?:
      guard context.x.count > 8, let code = memory.bytes(at: Address(context.pc) &- 4, count: 8)
      else {
        return .unknown
      }
      // svc 0
      let call: [UInt8] = [0x01, 0, 0, 0xD4]
      if code.suffix(4).elementsEqual(call), context.x[8] < 1024 {
        let name = name(Int(clamping: context.x[8]), snapshot)
        return .call(name: name, fact: "about to make system call \(context.x[8]) again")
      }
      if code.prefix(4).elementsEqual(call), Int64(bitPattern: context.x[0]) == -4 {
        return .call(name: "a system call", fact: "a system call ended with EINTR")
      }
      return .running(fact: "not at a system call")
    case nil: return .unknown
    }
  }
}
