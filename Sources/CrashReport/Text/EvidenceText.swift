internal import CrashAnalysis
internal import IntermediateDump
internal import ProcessSnapshot

extension MainThreadActivity {
  var text: String {
    switch self {
    case .blocked(let number, let name), .restarting(let number, let name):
      "The main thread was idle, in \(name ?? "system call \(number)")."
    case .sleeping, .interrupted: "The main thread was idle, in a system call."
    case .running, .computing: "The main thread was busy."
    }
  }

  var fact: String {
    switch self {
    case .blocked(let number, _): "blocked in system call \(number)"
    case .sleeping: "state S"
    case .restarting(let number, _): "about to make system call \(number) again"
    case .interrupted: "a system call ended with EINTR"
    case .running: "state R"
    case .computing: "not at a system call"
    }
  }
}

extension TrapInstruction {
  var text: String {
    switch self {
    case .undefined: "ud2 or brk"
    case .breakpoint: "int3 or brk #0xf000"
    case .sanitizer(let check): "ud1 or brk with the number \(check.number)"
    case .other: "none that compilers emit for a trap"
    }
  }
}

extension Cause.Sender {
  /// The sender as text, for example "process 12 (bash) of user 0".
  var text: String {
    "process \(processID)\(name.map { " (\($0))" } ?? "") of user \(userID)"
  }
}

extension Cause.Register {
  var text: String { "\(name) \(Address(value))" }
}

extension MemoryMapping {
  /// The mapping as text, for example "/bin/app (0x1000-0x2000 r-x)".
  var text: String {
    "\(path.isEmpty ? "anonymous memory" : path) (\(range) \(protection.letters))"
  }
}

extension Evidence {
  /// True for a fact that the head of the report already shows, in its sentence or its fields.
  var isInHead: Bool {
    switch self {
    case .signal, .ownAbort, .ownPipe, .processorTimeSignal, .fileSizeSignal, .systemCallSignal,
      .pageFault, .mapping, .notMapped, .stack, .stackPointer, .frames, .stackLimit, .allocator,
      .swiftMessage, .libraryMessage, .namedTrap, .sender,
      .wait, .taskWait, .pattern, .countedNoObject, .countedNoValue, .countedFreedObject,
      .usedFreedMemory, .noDeinitializer, .noMethod, .nullBase, .handledFirst:
      true
    default: false
    }
  }

  /// A short description of the fact, without a final period.
  package var text: String {
    switch self {
    case .signal(let signal, let code, let address):
      let codeName = code.map { code in
        ", " + (SignalNames.codeName(signal: signal, code: code) ?? "code \(code)")
      }
      let name = SignalNames.name(signal) ?? "\(signal)"
      return "signal \(name)\(codeName ?? "")" + (address.map { ", si_addr \($0)" } ?? "")
    case .ownAbort: return "signal SIGABRT, SI_TKILL from the process itself"
    case .ownPipe: return "signal SIGPIPE, SI_USER from the process itself"
    case .processorTimeSignal: return "signal SIGXCPU from the kernel"
    case .fileSizeSignal: return "signal SIGXFSZ"
    case .systemCallSignal(let call):
      let architecture = Address(UInt64(call.architecture))
      return "signal SIGSYS, si_syscall \(call.number), si_arch \(architecture)"
    case .pageFault(let error, let access):
      return "page-fault error code \(Address(error)): \(access.rawValue)"
    case .faultSyndrome(let syndrome, let access):
      return "exception syndrome \(Address(syndrome)): \(access.rawValue)"
    case .register(let register): return register.text
    case .mapping(let mapping): return "mapping \(mapping.text)"
    case .guardRegion: return "the kernel's page map has a guard region at the address"
    case .notMapped: return "no mapping holds the address"
    case .stack(let range): return "stack \(range)"
    case .stackPointer(let address): return "stack pointer \(address)"
    case .frames(let found, let estimated):
      return "\(found) frames found" + (estimated > 0 ? ", \(estimated) estimated" : "")
    case .stackLimit(let limit): return "RLIMIT_STACK \(limit)"
    case .allocator(let function): return "\(function) is among the innermost frames"
    case .pattern(let pattern, let register, let offset):
      let place = (register ?? "the faulting address") + (offset > 0 ? " minus \(offset)" : "")
      return "\(place) is \(pattern.words)"
    case .countedNoObject(let function, let address), .countedNoValue(let function, let address):
      return "\(function) was called on \(address)"
    case .countedFreedObject(let address), .usedFreedMemory(_, let address):
      return "the memory at \(address) begins as the C library's allocator leaves freed memory"
    case .noDeinitializer(let address):
      let place = address.map { " at \($0)" } ?? ""
      return "the first word of the object\(place) leads to no deinitializer"
    case .noMethod(let address):
      return
        "the call read its target from past the end of the metadata of the object at \(address)"
    case .foreignSelf(let address):
      return "the method at the fault belongs to no class of the object at \(address) in r13"
    case .nullBase(let register, let offset):
      return "\(register) is null, and the instruction adds \(offset)"
    case .handledFirst(let handler):
      return "the fault reached \(handler ?? "another handler") first"
    case .swiftMessage(let message): return "message of the Swift runtime: \(message)"
    case .libraryMessage(let message): return "message of the C library: \(message)"
    case .caughtException(let type):
      return "the thread's last caught C++ exception is of type \(type)"
    case .terminateOnStack: return "std::terminate() is on the stack"
    case .concurrencyFailureOnStack: return "swift_Concurrency_fatalError is on the stack"
    case .pureVirtualOnStack: return "__cxa_pure_virtual is on the stack"
    case .namedTrap(let message):
      return "debug information names the innermost inlined function"
        + " \"\(FunctionName.trapPrefix)\(message)\""
    case .trapIn(let function): return "the trap is in \(function)"
    case .isolationCheck: return "Swift's check of isolation called it"
    case .instruction(let address, let instruction):
      return "instruction at \(address): \(instruction.text)"
    case .processorTime(let time): return "CPU time used: \(time / 1_000_000) ms"
    case .sender(let sender): return "si_pid \(sender.processID), si_uid \(sender.userID)"
    case .mainThread(let id, let activity): return "main thread \(id): \(activity.fact)"
    case .watchdogInterval(let interval):
      return "WATCHDOG_USEC was set at launch: \(Finding.interval(interval))"
    case .wait(let wait):
      return "thread \(wait.threadID) waits for \(wait.noun)"
        + (wait.knownOwner.map { wait.subject == .thread ? " \($0)" : ", owner \($0)" } ?? "")
    case .taskWait(let wait): return "task \(wait.id) waits for \(wait.noun)"
    }
  }
}

extension Shortage {
  var text: String {
    switch self {
    case .openFiles(let used, let limit):
      "\(used) file descriptors are open, and the process may have \(limit) (RLIMIT_NOFILE)."
    case .mappings(let used, let limit):
      "The process has \(used) memory mappings, as many as it may have (\(limit),"
        + " vm.max_map_count)."
    case .cgroupMemory(let used, let limit):
      "The cgroup uses \(Quantity.size(used)) of the \(Quantity.size(limit)) of memory that"
        + " it may use."
    case .cgroupTasks(let used, let limit):
      "The cgroup has \(used) threads and processes, as many as it may have (\(limit))."
    case .addressSpace(let used, let limit):
      "The process uses \(Quantity.size(used)) of the \(Quantity.size(limit)) of address space that"
        + " it may use (RLIMIT_AS): an allocation may have failed."
    case .threads(let used, let limit):
      "The process has \(used) threads, and its user may have \(limit) threads and processes"
        + " (RLIMIT_NPROC)."
    }
  }
}
