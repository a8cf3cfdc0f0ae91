internal import CrashAnalysis
internal import Glibc
internal import IntermediateDump
internal import ProcessSnapshot

extension CrashReport {
  /// One or more sentences that explain the report; nil if the dump gives no explanation.
  ///
  /// The sentences describe why the dump was taken, or how the run ended. After a crash, they describe its cause, the
  /// objects that are evidence for the cause, and the resources at their limits. Sentences about threads or tasks that
  /// wait come last.
  package var explanation: String? {
    let sentences = explanationSentences + waitSentences
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }

  /// The sentence about the object that is evidence for the cause; empty if there is none.
  var objectSentences: [String] { objectCause.map { [$0.sentence] } ?? [] }

  /// The sentences of the explanation, starting with the event; empty if the dump gives no explanation.
  var explanationSentences: [String] {
    if let request = snapshot.request {
      let place =
        verdict.hang?.hasPlace == false && verdict.place == nil
        ? ["The place is not known: no thread that may have hung is in the program's own code."]
        : []
      return request.sentences(at: snapshot.process.crashTime) + place
    }
    if let end = snapshot.end { return end.sentences }
    if let foreign = snapshot.exception?.foreign {
      return [foreign.sentence(at: snapshot.exception?.address)]
    }
    return (verdict.cause?.sentences ?? []) + objectSentences + snapshot.shortages.map(\.text)
  }
}

extension Finding {
  /// The cause and its details in one or more sentences.
  package var text: String { sentences.joined(separator: " ") }

  /// The sentences about the cause, starting with what happened.
  var sentences: [String] {
    let allocator = evidence.lazy.compactMap { fact -> String? in
      guard case .allocator(let function) = fact else { return nil }
      return "It happened inside the memory allocator (\(function)), whose heap was most likely"
        + " damaged before: by a write past the end of a block, or to one that had been freed."
    }.first
    return causeSentences + [allocator].compactMap(\.self) + evidence.flatMap(\.wordSentences)
  }

  /// True if the program's message already contains everything that `sentences` contains.
  var isToldByMessage: Bool {
    switch cause {
    case .swiftFailure(let failure, .abort), .swiftFailure(let failure, .trap):
      failure != .outOfMemory
    case .libraryFailure(.assertion): true
    default: false
    }
  }

  private var causeSentences: [String] {
    switch cause {
    case .nullDereference(let access, 0):
      return ["\(access.subject) address 0: a null pointer was dereferenced."]
    case .nullDereference(let access, let address):
      return [
        "\(access.subject) \(address): a null pointer was dereferenced at an offset of"
          + " \(address.value) bytes."
      ]
    case .nullCall(0): return ["A call or jump through a null function pointer."]
    case .nullCall(let address): return ["A call or jump to \(address), near null."]
    case .impossibleAddress(let access, let address):
      return [
        "\(access.subject) \(address), which most likely cannot be an address of a user process: the"
          + " pointer was overwritten, or never was valid."
      ]
    case .protectedMemory(let access, let address, let mapping):
      return [Self.protectedMemory(access, address, mapping)]
    case .protectionKey(let access, let address, let mapping, let key):
      return [
        "\(access.subject) \(address)\(mapping.map { " in " + $0.text } ?? ""), which"
          + " \(key.map { "protection key \($0)" } ?? "a protection key") forbids."
      ]
    case .memoryTag(let access, let address):
      let what = address.map { "\(access.subject) \($0)" } ?? "An access to memory"
      return [
        "\(what) with a pointer whose tag is not that of the memory (MTE): the memory had been freed, or"
          + " lies past the end of what the pointer points to."
      ]
        + (address == nil
          ? ["The processor reported it later, so the instruction and the stack may be later ones."]
          : [])
    case .controlProtection:
      return [
        "The processor stopped a return or an indirect branch to an address to which it may not go"
          + " (shadow stack or branch tracking): a return address was most likely overwritten."
      ]
    case .guardRegion(let access, let address, _):
      return [
        "\(access.subject) \(address), in a guard region within mapped memory"
          + (certainty == .certain ? "." : ", or memory that was mapped after the fault.")
      ]
    case .mappedSince(let access, let address, _):
      return [
        "\(access.subject) \(address), where nothing was mapped.",
        "Memory has been mapped there since: another thread may have unmapped it, and used the"
          + " addresses again.",
      ]
    case .unmappedMemory(let access, let address, let below, let above):
      return ["\(access.subject) \(address), where nothing is mapped."]
        + Self.neighbours(of: address, below, above)
    case .generalProtection(let registers): return Self.generalProtection(registers)
    case .misalignedVector(let address):
      return [
        "An access to the misaligned address \(address): the instruction most likely requires a"
          + " multiple of 16.",
        "The processor reports such an access as a general protection fault, without the address.",
      ]
    case .privilegedInstruction(let address):
      return ["The instruction at \(address) is one that only the kernel may execute, such as hlt."]
    case .endOfCode(let address, let mapping):
      return [
        "Execution \(certainty == .likely ? "most likely " : "")ran off the end of the code in"
          + " \(mapping.text), to \(address): the last instruction there neither returns nor jumps."
      ]
    case .overwrittenReturn(let address):
      return [
        "A function \(certainty == .certain ? "" : "most likely ")returned to \(address), from which it was"
          + " not called: its return address on the stack was overwritten, for example by a write past the end"
          + " of a variable."
      ]
    case .stackOverflow(let overflow): return overflow.sentences
    case .truncatedFile(let address, let mapping):
      return [
        "An access to \(address) in the mapped file \(mapping.path), past the end of the"
          + " file or where it could not be read.", "The file may have been truncated.",
      ]
    case .trapInstruction(let isInSwift): return Self.trap(isInSwift: isInSwift)
    case .sanitizerTrap(let check):
      return [
        "A check of UndefinedBehaviorSanitizer failed: "
          + (check.words ?? "number \(check.number) of clang's list") + "."
      ]
    case .dispatchAssertion:
      return [
        "Code ran on a different Dispatch queue than the one it must run on.",
        "This is inferred from the functions on the stack; the program left no message.",
      ]
    case .dispatchMisuse(let misuse):
      return [
        misuse.sentence,
        "This is inferred from the functions on the stack; libdispatch leaves no message.",
      ]
    case .actorIsolation:
      return [
        "Code of an actor ran outside that actor's executor.",
        "This is inferred from the functions on the stack; the program left no message.",
      ]
    case .swiftFailure(let failure, let end): return Self.swiftFailure(failure, end)
    case .libraryFailure(let failure): return failure.sentences
    case .concurrencyFailure(let failure): return failure.sentences
    case .pureVirtualCall:
      return [
        "A pure virtual C++ function was called: on an object that is being constructed or destroyed,"
          + " or that no longer exists."
      ]
    case .terminate:
      return [
        "std::terminate() ended the process, and no C++ exception had been caught: for example, a"
          + " std::thread was destroyed while it ran, or `throw;` had no exception to rethrow."
      ]
    case .uncaughtException(let type):
      return [
        "A C++ exception of type \(type) was \(certainty == .likely ? "most likely " : "")not"
          + " caught."
      ]
    case .badAllocation:
      return ["An allocation failed: the C++ exception std::bad_alloc was not caught."]
    case .terminateInCatch(let type):
      return [
        "std::terminate() ended the process while it handled a C++ exception of type \(type), which had"
          + " been caught: for example, a std::thread was destroyed while it ran."
      ]
    case .abortInCatch(let type):
      return [
        "The process called abort() or raised SIGABRT itself, while it handled a C++"
          + " exception of type \(type)."
      ]
    case .forbiddenSystemCall(let call):
      return [
        "System call number \(call.number)\(call.name.map { " (\($0))" } ?? "") is not allowed"
          + " by a seccomp filter of this process."
      ]
    case .dispatchedSystemCall(let call):
      return [
        "System call number \(call.number)\(call.name.map { " (\($0))" } ?? "") raised SIGSYS because"
          + " the program requested this for its system calls (PR_SET_SYSCALL_USER_DISPATCH)."
      ]
    case .illegalInstruction(let address):
      return ["The processor does not know the instruction at \(address)."]
    case .ownSignal(let signal): return [Self.ownSignal(signal)]
    case .sentSignal(let signal, let sender, let activity):
      return ["The signal \(SignalNames.text(signal)) was sent\(Self.origin(sender))"]
        + [activity?.text].compactMap(\.self)
    case .quitRequest(let sender, let activity):
      return ["The process was asked to end: SIGQUIT was sent\(Self.origin(sender))"]
        + [activity?.text].compactMap(\.self)
    case .watchdog(let sender, let interval, let activity):
      return [
        "The service manager most likely ended the process because it sent no watchdog message for"
          + " \(Self.interval(interval)) (WatchdogSec): SIGABRT came from \(sender.text)."
      ] + [activity?.text].compactMap(\.self)
    case .deadlock:
      return [
        "libdispatch stopped the process: the thread called sync on a queue that it runs itself, which"
          + " would never end.",
        "This is inferred from the functions on the stack; libdispatch leaves no message.",
      ]
    case .taskDeadlock(let deadlock): return deadlock.sentences
    case .recorded(let word):
      return [
        "The conversion of the dump found the cause \(word), with names or unwind tables that were not"
          + " found now."
      ]
    default: return [plainSentence]
    }
  }

  /// The sentence for a cause without details.
  private var plainSentence: String {
    switch cause {
    case .misalignedAccess:
      "An access to a misaligned address, on an instruction that does not allow it."
    case .noMemoryBehindAddress: "An access to a mapped address for which there is no memory."
    case .hardwareMemoryError: "The hardware reported a memory error at the address."
    case .integerDivisionByZero:
      "An integer division by zero, or of the smallest integer by -1."
    case .floatingPointDivisionByZero:
      "A floating-point division by zero, with that exception unmasked."
    case .integerOverflow: "An integer overflow that traps."
    case .floatingPointException: "A floating-point operation with an unmasked exception."
    case .breakpoint: "A breakpoint instruction was executed (\(TrapInstruction.breakpoint.text))."
    case .invalidReturn:
      "The kernel could not return to the program, because the registers that it was to restore are"
        + " not valid (ILL_BADSTK)."
    case .cpuLimit: "The process used up the CPU time that its limit (RLIMIT_CPU) allows."
    case .fileSizeLimit:
      "A write would have made a file larger than the process' limit (RLIMIT_FSIZE) allows."
    case .brokenPipe: "A write to a pipe or socket whose reading end is closed."
    default: "The process called abort(), or raised SIGABRT itself."
    }
  }

  private static func generalProtection(_ registers: [Cause.Register]) -> [String] {
    let head = "A general protection fault, for which the processor gives no address."
    guard !registers.isEmpty else { return [head] }
    return [
      head,
      "Non-canonical addresses cause this fault; these registers hold"
        + " values that cannot be addresses: "
        + registers.map(\.text).joined(separator: ", ") + ".",
    ]
  }

  private static func trap(isInSwift: Bool) -> [String] {
    let head =
      "Trap instruction (\(TrapInstruction.undefined.text)): a failed runtime check, unreachable code,"
      + " or __builtin_trap()."
    guard isInSwift else { return [head] }
    return [
      head,
      "It is in Swift code: most likely a failed check such as overflow, an index out of"
        + " range, nil or a precondition.", "Debug information of this build would tell which.",
    ]
  }

  private static func ownSignal(_ signal: Int32) -> String {
    let detail =
      switch signal {
      case SIGSEGV, SIGBUS: "; no memory access failed"
      case SIGILL, SIGFPE, SIGTRAP: "; no instruction failed"
      default: ""
      }
    return "The process sent itself \(SignalNames.text(signal)) (kill or raise)\(detail)."
  }

  private static func protectedMemory(
    _ access: MemoryAccess?, _ address: Address, _ mapping: MemoryMapping
  ) -> String {
    let protection = mapping.protection
    let place = "\(address) in \(mapping.text)"
    if protection.isEmpty { return "\(access.subject) \(place), which allows no access at all." }
    switch access {
    case .write where !protection.contains(.write):
      return "A write to \(place), which is not writable."
    case .execute where !protection.contains(.execute):
      return "A jump or call to \(place), which is not executable."
    case .read where !protection.contains(.read):
      return "A read of \(place), which is not readable."
    case nil: return "An access to \(place), which does not allow it."
    default:
      // The mapping allows the access, so it was changed after the fault.
      return "\(access.subject) \(place), which allows it now: it may have been changed after the"
        + " fault."
    }
  }

  /// The distance in bytes from which on a mapping does not help to explain an address.
  private static let farAway: UInt64 = 1 << 30

  private static func neighbours(
    of address: Address, _ below: MemoryMapping?, _ above: MemoryMapping?
  ) -> [String] {
    var sentences: [String] = []
    if let below, let distance = below.range.end.flatMap({ address.distance(above: $0) }),
      distance < farAway
    {
      sentences.append(
        "The next mapping below ends \(Quantity.distance(distance)) before it: \(below.text).")
    }
    if let above, let distance = above.start.distance(above: address), distance < farAway {
      sentences.append(
        "The next above starts \(Quantity.distance(distance)) after it: \(above.text).")
    }
    return sentences
  }

  private static func swiftFailure(_ failure: SwiftFailure, _ end: Cause.SwiftEnd) -> [String] {
    switch end {
    case .abort:
      (failure == .outOfMemory ? ["An allocation failed."] : [])
        + ["The Swift runtime stopped the process: it left a message and called abort()."]
    case .trap: ["The Swift runtime stopped the process: it left a message and executed a trap."]
    case .silentTrap(let message):
      [
        "A check of Swift failed: \(message).",
        "This is inferred from debug information, which names the trap so; the program itself left"
          + " no message.",
      ]
    }
  }

  private static func origin(_ sender: Cause.Sender?) -> String {
    guard let sender else { return "; the kernel did not record by whom. It is not a fault." }
    if sender.code == 0, sender.processID == 0, sender.userID == 0 {
      // A sender outside this PID namespace cannot be distinguished from a sender that was not recorded, so the text
      // names both. Source: Linux kernel/signal.c, collect_signal.
      return ", by root from outside this PID namespace or by a process that was not recorded"
        + " because no more signals could be queued (RLIMIT_SIGPENDING)."
    }
    // A process ID of 0 means a process that is not visible in this PID namespace.
    return sender.processID == 0
      ? " by user \(sender.userID) from a process outside this PID namespace. It is not a fault."
      : " by \(sender.text). It is not a fault."
  }

  static func interval(_ nanoseconds: UInt64) -> String {
    let seconds = nanoseconds / 1_000_000_000
    return seconds > 0 ? "\(seconds) s" : "\(nanoseconds / 1_000_000) ms"
  }
}

extension MemoryAccess? {
  /// The beginning of a sentence about an access, before the address.
  fileprivate var subject: String {
    switch self {
    case .read: "A read of"
    case .write: "A write to"
    case .execute: "A jump or call to"
    case nil: "An access to"
    }
  }
}
