package import IntermediateDump
package import ProcessSnapshot

/// The cause of a crash, its certainty and its evidence, as values.
///
/// `Text/CauseText.swift` and `Text/EvidenceText.swift` turn these values into sentences.
package struct Finding: Sendable, Equatable {
  package typealias Certainty = FindingCertainty

  package var cause: Cause
  package var certainty = Certainty.certain
  package var evidence: [Evidence]
}

/// Why a crash occurred.
package enum Cause: Sendable, Equatable {
  // SIGSEGV
  case nullDereference(MemoryAccess?, Address)
  case nullCall(Address)
  /// The program used an address that no user process can have.
  case impossibleAddress(MemoryAccess?, Address)
  /// A mapping does not allow the access.
  case protectedMemory(MemoryAccess?, Address, MemoryMapping)
  /// The thread's rights for a protection key do not allow the access.
  case protectionKey(MemoryAccess?, Address, MemoryMapping?, key: UInt32?)
  /// The tag of the pointer was not that of the memory; nil for the address if the processor reported it later.
  case memoryTag(MemoryAccess?, Address?)
  /// A return or an indirect branch went to an address to which it may not go.
  case controlProtection
  /// The access hit a guard region inside a mapping that otherwise allows the access.
  case guardRegion(MemoryAccess?, Address, MemoryMapping)
  /// Nothing was mapped at the address when the fault occurred; the mapping that is there now is newer.
  case mappedSince(MemoryAccess?, Address, MemoryMapping)
  case unmappedMemory(MemoryAccess?, Address, below: MemoryMapping?, above: MemoryMapping?)
  /// A general protection fault, with the general registers whose values cannot be addresses, and so may explain the
  /// fault.
  case generalProtection([Register])
  /// The address of an access is not a multiple of 16, which its instruction most likely requires.
  case misalignedVector(Address)
  /// The program executed an instruction that only the kernel may execute.
  case privilegedInstruction(Address)
  /// Execution continued past the last instruction of a mapping.
  case endOfCode(Address, MemoryMapping)
  /// A function returned to an address that is not the one from which it was called.
  case overwrittenReturn(Address)
  case stackOverflow(StackOverflow)

  // SIGBUS
  case misalignedAccess
  case truncatedFile(Address, MemoryMapping)
  case noMemoryBehindAddress
  case hardwareMemoryError

  // SIGFPE
  case integerDivisionByZero
  case floatingPointDivisionByZero
  case integerOverflow
  case floatingPointException

  // SIGILL and SIGTRAP
  case trapInstruction(isInSwift: Bool)
  case breakpoint
  case illegalInstruction(Address)
  /// The kernel could not return to the program, because the registers to restore were not valid.
  case invalidReturn
  case sanitizerTrap(SanitizerCheck)
  case dispatchAssertion
  case dispatchMisuse(DispatchMisuse)
  case actorIsolation

  // Causes that are known from messages of runtimes, or from function names on the stack
  case swiftFailure(SwiftFailure, SwiftEnd)
  case libraryFailure(LibraryFailure)
  case concurrencyFailure(ConcurrencyFailure)
  case pureVirtualCall
  case terminate
  case uncaughtException(type: String)
  case badAllocation
  /// std::terminate() was called while the thread handled a C++ exception that it had caught.
  case terminateInCatch(type: String)
  case abortInCatch(type: String)
  case abort

  // Limits and filters
  case forbiddenSystemCall(ExceptionSnapshot.TrappedSystemCall)
  /// The program itself requested a signal for its system calls (PR_SET_SYSCALL_USER_DISPATCH).
  case dispatchedSystemCall(ExceptionSnapshot.TrappedSystemCall)
  case cpuLimit
  case fileSizeLimit

  // Causes of signals that were sent, and not raised by an instruction
  case brokenPipe
  case ownSignal(Int32)
  case sentSignal(Int32, Sender?, MainThreadActivity?)
  /// SIGQUIT from another process or a terminal, which asked the process to end.
  case quitRequest(Sender?, MainThreadActivity?)
  /// The service manager's watchdog sent the signal; `interval` is in nanoseconds.
  case watchdog(Sender, interval: UInt64, MainThreadActivity?)

  // Without a signal
  case deadlock(Deadlock)
  case taskDeadlock(TaskDeadlock)

  /// The cause with this word, which only the conversion found, with names that this reader lacks.
  case recorded(String)

  package struct Register: Sendable, Equatable {
    package var name: String
    package var value: UInt64
  }

  /// How the Swift runtime, or a check that the compiler inserted, ended the process.
  package enum SwiftEnd: Sendable, Equatable {
    case abort
    case trap
    /// A trap without a message; its description comes from debug information.
    case silentTrap(String)
  }

  /// The process that sent a signal.
  package struct Sender: Sendable, Equatable {
    package var processID: Int32
    package var userID: UInt32
    package var name: String?
    /// The `si_code` of the signal.
    package var code: Int32?
  }
}

/// A fact in the dump that supports a cause.
package enum Evidence: Sendable, Equatable {
  case signal(Int32, code: Int32?, Address?)
  /// The process sent SIGABRT to itself.
  case ownAbort
  case ownPipe
  case processorTimeSignal
  case fileSizeSignal
  case systemCallSignal(ExceptionSnapshot.TrappedSystemCall)
  /// The page-fault error code of an x86 processor, and the kind of access that the code indicates.
  case pageFault(UInt64, MemoryAccess)
  case faultSyndrome(UInt64, MemoryAccess)
  case register(Cause.Register)
  case mapping(MemoryMapping)
  /// The kernel reported that a guard region is at the address.
  case guardRegion
  case notMapped
  case stack(AddressRange)
  case stackPointer(Address)
  case frames(found: Int, estimated: Int)
  case stackLimit(UInt64)
  /// The function with this name, which belongs to the memory allocator, is among the innermost frames.
  case allocator(String)
  /// A value that is not a pointer was in `register`, or was the faulting address; `offset` bytes had been added to
  /// the value.
  case pattern(WordPattern, register: String?, offset: UInt64)
  /// A reference-counting function of the runtime faulted on its argument, so the argument is not an object.
  case countedNoObject(function: String, Address)
  /// A reference-counting function of the runtime faulted on a number that is too small to be the address of an
  /// object.
  case countedNoValue(function: String, Address)
  /// A reference-counting function of the runtime was called with an object that the C library's allocator had freed.
  case countedFreedObject(Address)
  /// The faulting address was computed from the first word of memory that the C library's allocator had freed.
  ///
  /// `register` is the register that contains the address of that memory; nil if only the stack contains the address.
  case usedFreedMemory(register: String?, Address)
  /// The runtime was about to deinitialize an object whose first word does not lead to a deinitializer.
  case noDeinitializer(Address?)
  /// The program called a method that the object's class does not have.
  case noMethod(Address)
  /// A method runs on an object to none of whose classes it belongs.
  case foreignSelf(Address)
  /// A Swift function read or wrote memory at null plus `offset` bytes; `register` contains the null.
  case nullBase(register: String, offset: UInt64)
  /// A handler of the program received the signal first and raised it again; its name, if it is known.
  case handledFirst(String?)
  case swiftMessage(String)
  case libraryMessage(String)
  case caughtException(type: String)
  case terminateOnStack
  case concurrencyFailureOnStack
  case pureVirtualOnStack
  /// The description of the failed check, from the debug information for the trap.
  case namedTrap(String)
  case trapIn(String)
  case isolationCheck
  case instruction(Address, TrapInstruction)
  /// The CPU time of the process in nanoseconds.
  case processorTime(UInt64)
  case sender(Cause.Sender)
  case mainThread(UInt32, MainThreadActivity)
  /// The interval in nanoseconds of the service manager's watchdog, which may have sent the signal.
  case watchdogInterval(UInt64)
  case wait(Wait)
  case taskWait(TaskDeadlock.Wait)
}

/// A stack overflow: how it was noticed, and facts about the stack.
package struct StackOverflow: Sendable, Equatable {
  package enum Fault: Sendable, Equatable {
    /// A memory access below the stack, at a distance of `below` bytes.
    ///
    /// `frameSize` is the size of the innermost frame; nil unless the frame is larger than any guard region.
    case access(Address, below: UInt64, isInGuard: Bool, frameSize: UInt64?)
    /// The kernel had no room on the stack to deliver a signal.
    ///
    /// If `mayHideGuard` is true, the lowest part of the stack may be a guard region that no mapping shows.
    case signal(mayHideGuard: Bool)
  }

  package var fault: Fault
  package var stack: AddressRange
  package var stackPointer: Address
  package var depth: Depth?
  /// RLIMIT_STACK in bytes; nil unless the stack is that of the main thread.
  package var limit: UInt64?
  /// True if the thread is the main thread, but the stack is another one than the main thread's own.
  package var isOtherThanMain = false
  package var recursion: CommonFunction?

  /// The number of calls on the stack: those that were found, and an estimate of those that are not in the dump.
  package struct Depth: Sendable, Equatable {
    package var found: Int
    /// The estimated number of further calls in a part of the stack that is not in the dump.
    package var estimated: Int
    package var isWhole: Bool
  }

  /// The function that occurs most often among the innermost frames, and how often.
  package struct CommonFunction: Sendable, Equatable {
    package var name: String
    package var count: Int
    package var frames: Int
  }
}

extension Finding {
  /// The word for a request to quit.
  package static let quitRequest = "quit-request"

  /// The word for the cause, as in the table in `Docs/Reference/Reports.md`.
  package var kind: String {
    switch cause {
    case .nullDereference: "null-dereference"
    case .nullCall: "null-call"
    case .impossibleAddress: "impossible-address"
    case .protectedMemory(let access, _, let mapping):
      access == .execute && !mapping.protection.contains(.execute)
        ? "executed-data" : "protected-memory"
    case .protectionKey: "protected-memory"
    case .memoryTag: "memory-tag"
    case .controlProtection: "control-protection"
    case .guardRegion: "guard-region"
    case .unmappedMemory, .mappedSince: "unmapped-memory"
    case .generalProtection: "general-protection"
    case .privilegedInstruction: "privileged-instruction"
    case .endOfCode: "end-of-code"
    case .overwrittenReturn: "overwritten-return-address"
    case .stackOverflow: "stack-overflow"
    case .misalignedAccess, .misalignedVector: "misaligned-access"
    case .truncatedFile: "truncated-file"
    case .noMemoryBehindAddress: "no-memory-behind-address"
    case .hardwareMemoryError: "hardware-memory-error"
    case .integerDivisionByZero, .floatingPointDivisionByZero: "division-by-zero"
    case .integerOverflow: "integer-overflow"
    case .floatingPointException: "floating-point-exception"
    case .trapInstruction: "trap-instruction"
    case .breakpoint: "breakpoint"
    case .illegalInstruction: "illegal-instruction"
    case .invalidReturn: "invalid-return"
    case .sanitizerTrap: "undefined-behavior"
    case .dispatchAssertion: "dispatch-assertion"
    case .dispatchMisuse: "dispatch-misuse"
    case .actorIsolation: "swift-actor-isolation"
    case .swiftFailure(let failure, _): failure.rawValue
    case .libraryFailure(let failure): failure.rawValue
    case .concurrencyFailure(let failure): failure.rawValue
    case .pureVirtualCall: "pure-virtual-call"
    case .terminate, .terminateInCatch: "cxx-terminate"
    case .uncaughtException: "cxx-exception"
    case .badAllocation: "out-of-memory"
    case .abortInCatch, .abort: "abort"
    case .forbiddenSystemCall: "forbidden-system-call"
    case .dispatchedSystemCall: "dispatched-system-call"
    case .cpuLimit: "cpu-limit"
    case .fileSizeLimit: "file-size-limit"
    case .brokenPipe: "broken-pipe"
    case .ownSignal, .sentSignal: "sent-signal"
    case .quitRequest: Self.quitRequest
    case .watchdog: "watchdog"
    case .deadlock, .taskDeadlock: "deadlock"
    case .recorded(let word): word
    }
  }
}
