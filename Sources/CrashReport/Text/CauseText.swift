internal import IntermediateDump
internal import ProcessSnapshot

extension CrashReport {
  /// The report in a sentence or more: why the dump was taken, how the run ended, or the cause with
  /// what had been used up; nil where the dump shows nothing.
  package var explanation: String? {
    if let request = snapshot.request {
      let place =
        hang?.hasPlace == false
        ? " The place is not known: no thread that may be it stands in the program's own code." : ""
      return request.text(at: snapshot.process.crashTime) + place
    }
    if let end = snapshot.end { return end.text }
    if let foreign = snapshot.exception?.foreign {
      return foreign.sentence(at: snapshot.exception?.address)
    }
    let sentences = [cause?.text].compactMap { $0 } + snapshot.shortages.map(\.text)
    return sentences.isEmpty ? nil : sentences.joined(separator: " ")
  }
}

extension Finding {
  /// A sentence or more for a person.
  package var text: String {
    let allocator = evidence.lazy.compactMap { fact -> String? in
      guard case .allocator(let function) = fact else { return nil }
      return " It happened inside the memory allocator (\(function)), whose heap was most likely"
        + " damaged before: by a write past the end of a block, or to one that had been freed."
    }.first
    return causeText + (allocator ?? "")
  }

  private var causeText: String {
    switch cause {
    case .nullDereference(let access, 0):
      return "\(access.subject) address 0: a null pointer was dereferenced."
    case .nullDereference(let access, let address):
      return "\(access.subject) \(address): a null pointer was dereferenced at an offset of"
        + " \(address.value) bytes."
    case .nullCall(0): return "A call or jump through a null function pointer."
    case .nullCall(let address): return "A call or jump to \(address), near null."
    case .impossibleAddress(let access, let address):
      return "\(access.subject) \(address), which is no possible address of a user process: the"
        + " pointer is not one, or was overwritten."
    case .protectedMemory(let access, let address, let mapping, let code):
      return Self.protectedMemory(access, address, mapping, code)
    case .guardRegion(let access, let address, _):
      return "\(access.subject) \(address), in a guard region within mapped memory"
        + (certainty == .certain ? "." : ", or memory that was mapped after the fault.")
    case .mappedSince(let access, let address, _):
      return "\(access.subject) \(address), where nothing was mapped. Memory has been mapped there"
        + " since: another thread may have unmapped it, and used the addresses again."
    case .unmappedMemory(let access, let address, let below, let above):
      return "\(access.subject) \(address), where nothing is mapped."
        + Self.neighbours(of: address, below, above)
    case .generalProtection(let registers):
      let head = "A general protection fault, for which the processor gives no address."
      guard !registers.isEmpty else { return head }
      return head + " It is what the use of a non-canonical address causes; these registers hold"
        + " values that are no possible addresses: "
        + registers.map(\.text).joined(separator: ", ") + "."
    case .endOfCode(let address, let mapping):
      return "Execution \(certainty == .likely ? "most likely " : "")ran off the end of the code in"
        + " \(mapping.text), to \(address): the last instruction there neither returns nor jumps."
    case .stackOverflow(let overflow): return overflow.text
    case .misalignedAccess:
      return "An access to a misaligned address, on an instruction that does not allow it."
    case .truncatedFile(let address, let mapping):
      return "An access to \(address) in the mapped file \(mapping.path), behind the end of the"
        + " file or where it could not be read. The file may have been truncated."
    case .noMemoryBehindAddress:
      return "An access to an address that exists but has no memory behind it."
    case .hardwareMemoryError: return "The hardware reported a memory error at the address."
    case .integerDivisionByZero:
      return "An integer division by zero, or of the smallest integer by -1."
    case .floatingPointDivisionByZero:
      return "A floating-point division by zero, with that exception unmasked."
    case .integerOverflow: return "An integer overflow that traps."
    case .floatingPointException:
      return "A floating-point operation with an unmasked exception."
    case .trapInstruction(let isInSwift):
      return "A trap instruction was executed (\(TrapInstruction.undefined.text)), as compilers"
        + " emit for failed checks, code that cannot be reached, and __builtin_trap()."
        + (isInSwift
          ? " It is in Swift code: most likely a failed check such as overflow, an index out of"
            + " range, nil or a precondition. Debug information of this build would tell which."
          : "")
    case .breakpoint:
      return "A breakpoint instruction was executed (\(TrapInstruction.breakpoint.text))."
    case .illegalInstruction(let address):
      return "The processor does not know the instruction at \(address)."
    case .sanitizerTrap(let check):
      return "A check of UndefinedBehaviorSanitizer failed: "
        + (check.words ?? "number \(check.number) of clang's list") + "."
    case .dispatchAssertion:
      return "Code ran on another Dispatch queue than the one that it must run on."
        + " This is inferred from the functions on the stack; the program left no message."
    case .actorIsolation:
      return "Code of an actor ran outside that actor's executor."
        + " This is inferred from the functions on the stack; the program left no message."
    case .swiftFailure(let failure, let end): return Self.swiftFailure(failure, end)
    case .libraryFailure(let failure):
      return "The C library or a failed assertion ended the process: it left a message and called"
        + " abort()." + failure.detail
    case .concurrencyFailure(let failure): return failure.text
    case .pureVirtualCall:
      return "A pure virtual C++ function was called: on an object under construction or"
        + " destruction, or one that is gone."
    case .terminate:
      return "std::terminate() ended the process, and no C++ exception had been caught: a"
        + " std::thread that still ran was destroyed, say, or nothing was there to throw again."
    case .uncaughtException(let type):
      return "A C++ exception of type \(type) was \(certainty == .likely ? "most likely " : "")not"
        + " caught."
    case .badAllocation:
      return "An allocation failed: the C++ exception std::bad_alloc was not caught."
    case .abortInCatch(let type):
      return "The process ended itself with SIGABRT, as abort() does, while it handled a C++"
        + " exception of type \(type)."
    case .abort: return "The process ended itself with SIGABRT, as abort() does."
    case .forbiddenSystemCall(let call):
      return "System call number \(call.number)\(call.name.map { " (\($0))" } ?? "") is not allowed"
        + " by a seccomp filter of this process."
    case .cpuLimit: return "The process used up the CPU time that its limit (RLIMIT_CPU) allows."
    case .fileSizeLimit:
      return "A write would have made a file larger than the process' limit (RLIMIT_FSIZE) allows."
    case .brokenPipe: return "A write to a pipe or socket that nobody reads any more."
    case .ownSignal(let signal):
      return "The process sent the signal \(SignalNames.text(signal)) to itself. It is not a fault."
    case .sentSignal(let signal, let sender, let activity):
      return "The signal \(SignalNames.text(signal)) was sent\(Self.origin(sender))"
        + (activity.map { " \($0.text)" } ?? "")
    case .watchdog(let sender, let interval, let activity):
      return "The service manager most likely ended the process because it gave no sign of life for"
        + " \(Self.interval(interval)) (WatchdogSec): SIGABRT came from \(sender.text)."
        + (activity.map { " \($0.text)" } ?? "")
    }
  }

  private static func protectedMemory(
    _ access: MemoryAccess?, _ address: Address, _ mapping: MemoryMapping, _ code: Int32?
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
      // The mapping allows it, so it changed after the fault, or a protection key (SEGV_PKUERR)
      // forbade it.
      return code == 4
        ? "\(access.subject) \(place), which a protection key forbids."
        : "\(access.subject) \(place), which allows it now: it may have been changed after the"
          + " fault."
    }
  }

  private static func neighbours(
    of address: Address, _ below: MemoryMapping?, _ above: MemoryMapping?
  ) -> String {
    var text = ""
    if let below, let distance = below.range.end.flatMap({ address.distance(above: $0) }) {
      text +=
        " The next mapping below ends \(Quantity.distance(distance)) before it: \(below.text)."
    }
    if let above, let distance = above.start.distance(above: address) {
      text += " The next above starts \(Quantity.distance(distance)) behind it: \(above.text)."
    }
    return text
  }

  private static func swiftFailure(_ failure: SwiftFailure, _ end: Cause.SwiftEnd) -> String {
    switch end {
    case .abort:
      (failure == .outOfMemory ? "An allocation failed. " : "")
        + "The Swift runtime stopped the process: it left a message and called abort()."
    case .trap: "The Swift runtime stopped the process: it left a message and executed a trap."
    case .silentTrap(let message):
      "A check of Swift failed: \(message). This is inferred from debug information, which names"
        + " the trap so; the program itself left no message."
    }
  }

  private static func origin(_ sender: Cause.Sender?) -> String {
    guard let sender else { return "; the kernel did not record by whom. It is not a fault." }
    if sender.code == 0, sender.processID == 0, sender.userID == 0 {
      // Both leave the same. Source: Linux kernel/signal.c, collect_signal.
      return ", by root from outside this PID namespace or by a process that was not recorded"
        + " because no more signals could be queued (RLIMIT_SIGPENDING)."
    }
    // A process ID of 0 is one that this PID namespace cannot see.
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
  /// The beginning of a sentence.
  fileprivate var subject: String {
    switch self {
    case .read: "A read of"
    case .write: "A write to"
    case .execute: "A jump or call to"
    case nil: "An access to"
    }
  }
}

extension LibraryFailure {
  fileprivate var detail: String {
    switch self {
    case .assertion, .other: ""
    case .stackSmashing:
      " A function found, before it returned, that the guard value above its variables had been"
        + " overwritten: one of them was written past its end."
    case .bufferOverflow: " A copy would have written past the end of its destination."
    case .heapCorruption:
      " The memory allocator found its heap damaged, or was given a pointer that it did not give"
        + " out. Where that was found is not always where it was done."
    }
  }
}

extension ConcurrencyFailure {
  fileprivate var text: String {
    let what =
      switch self {
      case .taskAllocation:
        "memory of a task was not freed in the reverse order of its allocation (\"freed pointer was"
          + " not the last allocation\")"
      case .actorIsolation:
        "code of an actor ran outside that actor's executor (\"Incorrect actor executor"
          + " assumption\")"
      case .other: "a rule was broken"
      }
    return "The Swift concurrency runtime stopped the process: \(what). This is inferred from the"
      + " functions on the stack; the runtime wrote its message to standard error alone."
  }
}

extension StackOverflow {
  fileprivate var text: String {
    let size = "(\(stack), \(Quantity.distance(stack.byteCount)))"
    var sentences: [String] = []
    switch fault {
    case .access(let address, let below, let isInGuard, let frameSize):
      sentences.append(
        "The stack overflowed: the address \(address) lies \(Quantity.distance(below)) below the"
          + " stack \(size) and next to the stack pointer"
          + " \(stackPointer)\(isInGuard ? ", in its guard" : "").")
      if let frameSize {
        sentences.append("The innermost frame alone is \(Quantity.distance(frameSize)) large.")
      }
    case .signal:
      let place =
        stackPointer.distance(above: stack.start).map {
          "\(Quantity.distance($0)) above the end of"
        } ?? "\(Quantity.distance(stack.start.wrappedDistance(above: stackPointer))) below"
      sentences.append(
        "The stack overflowed: a signal came, and the kernel had no room to deliver it. The stack"
          + " pointer \(stackPointer) lies \(place) the stack \(size).")
    }
    if let bounds { sentences.append(bounds) }
    if let recursion {
      sentences.append(
        "\(FunctionName.short(recursion.name)) is in \(recursion.count) of the innermost"
          + " \(recursion.frames) frames.")
    }
    return sentences.joined(separator: " ")
  }

  /// The number of calls on it, and the size to which it may grow.
  private var bounds: String? {
    let calls = depth.map { depth in
      let about = depth.estimated > 0 ? "About " : depth.isWhole ? "" : "At least "
      return "\(about)\(depth.found + depth.estimated) calls are on it"
    }
    let growth = limit.map {
      "\(calls == nil ? "The" : "the") main thread's may grow to \(Quantity.distance($0))"
        + " (RLIMIT_STACK)"
    }
    let parts = [calls, growth].compactMap { $0 }
    return parts.isEmpty ? nil : parts.joined(separator: "; ") + "."
  }
}
