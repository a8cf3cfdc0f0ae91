internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot
internal import Stackwalk

/// Finds the cause of a SIGILL or SIGTRAP that the processor raised.
struct TrapFinding {
  let snapshot: ProcessSnapshot
  let frames: [StackFrame]

  func finding(_ exception: ExceptionSnapshot, _ signal: Int32) -> Finding? {
    let fact = snapshot.signalEvidence
    if signal == SIGILL, Int(exception.code ?? 0) == ILL_BADSTK {
      return Finding(cause: .invalidReturn, evidence: fact)
    }
    if let message = MessageOwner(snapshot: snapshot, frames: frames).swiftMessage {
      return Finding(
        cause: .swiftFailure(SwiftFailure(message: message.text), .trap),
        certainty: message.certainty, evidence: fact + [.swiftMessage(message.text)])
    }
    if let message = SwiftFailure.trapMessage(of: frames) {
      return Finding(
        cause: .swiftFailure(SwiftFailure(message: message), .silentTrap(message)),
        certainty: .inferred, evidence: fact + [.namedTrap(message)])
    }
    if let failure = dispatchFailure { return failure }
    guard let place = exception.context?.instructionPointer,
      let instruction = instruction(at: place, exception)
    else { return nil }
    let evidence = fact + [.instruction(place, instruction)]
    switch instruction {
    case .undefined:
      return Finding(cause: .trapInstruction(isInSwift: isInSwift), evidence: evidence)
    case .breakpoint: return Finding(cause: .breakpoint, evidence: evidence)
    case .sanitizer(let check):
      return Finding(cause: .sanitizerTrap(check), evidence: evidence)
    case .other:
      if signal == SIGILL, [ILL_PRVOPC, ILL_PRVREG].contains(Int(exception.code ?? 0)) {
        return Finding(cause: .privilegedInstruction(place), evidence: fact)
      }
      return signal == SIGILL
        ? Finding(cause: .illegalInstruction(place), evidence: evidence) : nil
    }
  }

  /// The finding for a trap of libdispatch; nil for another trap.
  ///
  /// On Linux, libdispatch writes no message, so the functions on the stack show which check failed.
  ///
  /// Source: swift-corelibs-libdispatch src/queue.c, _dispatch_assert_queue_fail, __DISPATCH_WAIT_FOR_QUEUE__;
  /// `DispatchMisuse`.
  /// Source: swift stdlib/public/Concurrency/ConcurrencyHooks.cpp, swift_task_checkIsolated.
  private var dispatchFailure: Finding? {
    let symbols = frames.prefix(8).compactMap(\.linkageName)
    guard let first = symbols.first,
      frames.first.flatMap({ snapshot.modules.module(of: $0) })?.name.hasPrefix("libdispatch.so")
        != false
    else { return nil }
    if let misuse = DispatchMisuse(function: first) {
      return Finding(
        cause: .dispatchMisuse(misuse), certainty: .inferred,
        evidence: snapshot.signalEvidence + [.trapIn(first)])
    }
    guard Self.checks.contains(where: first.hasPrefix) else { return nil }
    if first.hasPrefix(Self.waiting), let id = snapshot.exception?.threadID {
      var wait = Wait(threadID: id, .queue, at: 0)
      wait.owner = id
      return Finding(
        cause: .deadlock(Waits.cycle(of: wait)), certainty: .inferred,
        evidence: snapshot.signalEvidence + [.trapIn(first), .wait(wait)])
    }
    let isIsolation = symbols.contains {
      $0.hasPrefix("swift_task_checkIsolated") || $0.hasPrefix("_swift_task_checkIsolated")
        || $0.hasPrefix("swift_task_isCurrentExecutor")
    }
    return Finding(
      cause: isIsolation ? .actorIsolation : .dispatchAssertion, certainty: .inferred,
      evidence: snapshot.signalEvidence + [.trapIn(first)] + (isIsolation ? [.isolationCheck] : []))
  }

  /// The function of libdispatch that waits for a queue; it traps if the calling thread already runs this queue.
  private static let waiting = "__DISPATCH_WAIT_FOR_QUEUE__"
  private static let checks = ["_dispatch_assert_queue", waiting]

  /// True for a trap in a Swift function; only debug information can name the check that failed.
  private var isInSwift: Bool {
    guard let symbol = frames.first(where: { !$0.isInlined })?.linkageName else { return false }
    return symbol.hasPrefix("$s") || symbol.hasPrefix("$S")
  }

  /// Finds out which instruction trapped; nil if its bytes are not in the dump, or if a SIGTRAP of x86_64 did not come
  /// from an int3.
  private func instruction(
    at address: Address, _ exception: ExceptionSnapshot
  ) -> TrapInstruction? {
    let memory = snapshot.memory
    switch snapshot.architecture {
    case .x86_64:
      // After an int3, the instruction pointer is past the instruction; after a ud2, it is at the instruction.
      if exception.signal == SIGTRAP {
        return memory.bytes(at: address &- 1, count: 1)?.first == 0xCC ? .breakpoint : nil
      }
      guard let code = memory.bytes(at: address, count: 2) else { return nil }
      if code.elementsEqual([0x0F, 0x0B]) { return .undefined }
      // At the end of the captured memory, fewer than six bytes may be available.
      let longer = (4...6).reversed().lazy.compactMap { memory.bytes(at: address, count: $0) }.first
      return longer.flatMap(SanitizerCheck.init(x86:)).map(TrapInstruction.sanitizer) ?? .other
    case .arm64:
      guard let word = memory.bytes(at: address, count: 4)?.littleEndian(at: 0, as: UInt32.self)
      else { return nil }
      if let check = SanitizerCheck(arm64: word) { return .sanitizer(check) }
      if word == 0xD43E_0000 { return .breakpoint }
      return word & 0xFFE0_001F == 0xD420_0000 ? .undefined : .other
    }
  }
}
