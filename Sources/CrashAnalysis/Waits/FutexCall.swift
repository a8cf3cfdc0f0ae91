internal import IntermediateDump
internal import ProcessSnapshot

/// The futex(2) call in which a thread is blocked.
struct FutexCall: Sendable, Equatable {
  /// FUTEX_PRIVATE_FLAG: only threads of the calling process can use the futex word.
  private static let privateFlag: UInt64 = 0x80
  /// FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
  private static let flags: UInt64 = 0x180

  let word: Address
  /// True for FUTEX_LOCK_PI and FUTEX_LOCK_PI2.
  ///
  /// For these operations, the kernel requires that the futex word contains the owner's thread ID.
  let isOwnedWord: Bool
  /// True if only threads of this process can use the futex word.
  let isPrivate: Bool
  /// True if the wait ends by itself after some time.
  let hasLimit: Bool

  /// Finds the thread's call of futex(2); nil if the thread is not in futex(2), or if the arguments of the call are not
  /// known or cannot be right.
  init?(of thread: ThreadSnapshot, in snapshot: ProcessSnapshot) {
    guard let call = BlockingCall(of: thread, in: snapshot),
      call.number == snapshot.architecture.futexNumber
    else { return nil }
    let arguments = call.arguments
    guard arguments.count >= 4, arguments[0] >= 0x1000, arguments[0] & 3 == 0,
      arguments[0] != IntermediateDumpFormat.replacedWord
    else { return nil }
    word = Address(arguments[0])
    isOwnedWord = [6, 13].contains(arguments[1] & 0xFFFF_FFFF & ~Self.flags)
    isPrivate = arguments[1] & Self.privateFlag != 0
    hasLimit = arguments[3] != 0
  }
}

/// The system call in which a thread is blocked.
struct BlockingCall: Sendable, Equatable {
  let number: Int
  /// The six arguments; empty if they are not known.
  let arguments: [UInt64]

  init?(of thread: ThreadSnapshot, in snapshot: ProcessSnapshot) {
    if thread.systemCall != nil {
      guard let listedNumber = thread.systemCallNumber else { return nil }
      let (listed, registers) = (
        thread.systemCallArguments, thread.context?.systemCallArguments ?? []
      )
      // The text was read before the thread was stopped, so the thread may be in another call now. Only the
      // registers of x86_64 are compared with it, because on arm64, the register of the first argument may contain
      // the result of the call.
      if case .x86_64 = thread.context, let first = listed.first, first != registers.first {
        return nil
      }
      number = listedNumber
      arguments = listed.isEmpty ? registers : listed
    } else {
      guard let context = thread.context, let interrupted = context.interruptedCall(snapshot)
      else { return nil }
      number = interrupted
      arguments = context.systemCallArguments
    }
  }
}

extension ThreadSnapshot {
  /// The arguments in a line of proc_pid_syscall(5), which shows six of them as hexadecimal numbers.
  ///
  /// The result is empty if the line does not contain them.
  var systemCallArguments: [UInt64] {
    let words = systemCall?.split(separator: " ").dropFirst().prefix(6) ?? []
    let numbers = words.compactMap { word in
      word.hasPrefix("0x") ? UInt64(word.dropFirst(2), radix: 16) : nil
    }
    return numbers.count == 6 ? numbers : []
  }
}

extension ProcessSnapshot.Architecture {
  /// The number of the system call futex.
  ///
  /// Source: Linux arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
  fileprivate var futexNumber: Int {
    switch self {
    case .x86_64: 202
    case .arm64: 98
    }
  }
}

extension CPUContext {
  /// The arguments of a system call, from the registers.
  ///
  /// On arm64, a core file lacks the first argument, because the register for this argument already contains the result
  /// of the call.
  fileprivate var systemCallArguments: [UInt64] {
    switch self {
    case .x86_64(let context):
      [context.rdi, context.rsi, context.rdx, context.r10, context.r8, context.r9]
    case .arm64(let context): context.x.count > 5 ? Array(context.x.prefix(6)) : []
    }
  }

  /// The number of the system call that the thread is about to make again, because a signal has interrupted the call;
  /// nil if the thread is not at the instruction of a system call.
  fileprivate func interruptedCall(_ snapshot: ProcessSnapshot) -> Int? {
    let number: UInt64?
    let instruction: [UInt8]
    switch self {
    case .x86_64(let context): (number, instruction) = (context.rax, [0x0F, 0x05])
    case .arm64(let context):
      (number, instruction) = (context.x.count > 8 ? context.x[8] : nil, [0x01, 0, 0, 0xD4])
    }
    guard
      snapshot.memory.bytes(at: instructionPointer, count: instruction.count)?
        .elementsEqual(instruction) ?? false
    else { return nil }
    return number.flatMap { $0 < 1024 ? Int(truncatingIfNeeded: $0) : nil }
  }
}
