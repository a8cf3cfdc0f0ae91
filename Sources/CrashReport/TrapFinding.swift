internal import ProcessSnapshot

/// Explains SIGILL and SIGTRAP that the processor raised.
struct TrapFinding {
  let snapshot: ProcessSnapshot
  let frames: [CrashReport.Frame]

  func finding(_ exception: ExceptionSnapshot, _ signal: Int32) -> Finding? {
    if let message = exception.fatalMessage?.trimmed, !message.isEmpty {
      return Finding(
        kind: SwiftFailure.kind(of: message),
        text: "The Swift runtime stopped the process: it left a message and executed a trap.",
        evidence: snapshot.signalFact + ["message of the Swift runtime: \(message)"])
    }
    if let message = RuntimeFailure.message(of: frames) {
      return Finding(
        kind: SwiftFailure.kind(of: message), certainty: .inferred,
        text: "A check of Swift failed: \(message). This is inferred from debug information, which"
          + " names the trap so; the program itself left no message.",
        evidence: snapshot.signalFact + [
          "debug information names the innermost inlined function \"\(RuntimeFailure.prefix)\(message)\""
        ])
    }
    if let failure = dispatchFailure { return failure }
    guard let instruction = instruction(exception) else { return nil }
    let place = exception.context.map { $0.instructionPointer.description }
    let fact =
      snapshot.signalFact + ["instruction at \(place ?? "its address"): \(instruction.rawValue)"]
    switch instruction {
    case .undefined:
      return Finding(
        kind: "trap-instruction",
        text: "A trap instruction was executed (\(instruction.rawValue)), as compilers emit for"
          + " failed checks, code that cannot be reached, and __builtin_trap()." + swiftHint,
        evidence: fact)
    case .breakpoint:
      return Finding(
        kind: "breakpoint",
        text: "A breakpoint instruction was executed (\(instruction.rawValue)).", evidence: fact)
    case .other:
      guard signal == SignalNames.illegal else { return nil }
      return Finding(
        kind: "illegal-instruction",
        text: "The processor does not know the instruction at \(place ?? "its address").",
        evidence: fact)
    }
  }

  /// A trap of libdispatch, which keeps its words to itself on Linux; its functions tell.
  ///
  /// Source: swift-corelibs-libdispatch src/queue.c, _dispatch_assert_queue_fail; swift
  /// stdlib/public/Concurrency/Actor.cpp, swift_task_checkIsolated.
  private var dispatchFailure: Finding? {
    let symbols = frames.prefix(8).compactMap(\.symbol)
    guard let first = symbols.first, first.hasPrefix("_dispatch_assert_queue"),
      frames.first?.module?.hasPrefix("libdispatch") != false
    else { return nil }
    let isIsolation = symbols.contains {
      $0.hasPrefix("swift_task_checkIsolated") || $0.hasPrefix("_swift_task_checkIsolated")
        || $0.hasPrefix("swift_task_isCurrentExecutor")
    }
    return Finding(
      kind: isIsolation ? "swift-actor-isolation" : "dispatch-assertion", certainty: .inferred,
      text: (isIsolation
        ? "Code of an actor ran outside that actor's executor."
        : "Code ran on another Dispatch queue than the one that it must run on.")
        + " This is inferred from the functions on the stack; the program left no message.",
      evidence: snapshot.signalFact + ["the trap is in \(first)"]
        + (isIsolation ? ["Swift's check of isolation called it"] : []))
  }

  /// In a Swift function without debug information it is a check whose words the optimiser left
  /// out.
  private var swiftHint: String {
    guard let symbol = frames.first(where: { $0.inlined != true })?.symbol,
      symbol.hasPrefix("$s") || symbol.hasPrefix("$S")
    else { return "" }
    return " It is in Swift code: most likely a failed check such as overflow, an index out of"
      + " range, nil or a precondition. Debug information of this build would tell which."
  }

  private enum Instruction: String {
    case undefined = "ud2 or brk"
    case breakpoint = "int3"
    case other = "none that compilers emit for a trap"
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
}
