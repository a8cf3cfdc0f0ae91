internal import IntermediateDump
internal import ProcessSnapshot

/// The futex(2) call in which a thread is blocked.
struct FutexCall: Sendable, Equatable {
  let word: Address
  /// True for FUTEX_LOCK_PI and FUTEX_LOCK_PI2.
  ///
  /// For these operations, the kernel requires that the futex word contains the owner's thread ID.
  let isOwnedWord: Bool

  /// Finds the thread's call of futex(2); nil if the thread is not in futex(2), or if the arguments of the call are not
  /// known or cannot be right.
  init?(of thread: ThreadSnapshot, in snapshot: ProcessSnapshot) {
    let arguments: (word: UInt64, operation: UInt64)?
    if let text = thread.systemCall {
      guard thread.systemCallNumber == snapshot.architecture.futexNumber else { return nil }
      let (listed, registers) = (Self.arguments(text), thread.context?.firstArguments)
      // `text` was read before the thread was stopped, so the thread may wait for another lock now. Only the registers
      // of x86_64 are compared with `text`, because on arm64, the register of the first argument may contain the
      // result of the call.
      if case .x86_64 = thread.context, let listed, listed.word != registers?.word { return nil }
      arguments = listed ?? registers
    } else if let context = thread.context, context.isAtFutexCall(snapshot) {
      arguments = context.firstArguments
    } else {
      return nil
    }
    guard let arguments, arguments.word >= 0x1000, arguments.word & 3 == 0,
      arguments.word != IntermediateDumpFormat.replacedWord
    else { return nil }
    word = Address(arguments.word)
    // The mask removes FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
    isOwnedWord = [6, 13].contains(arguments.operation & 0x7F)
  }

  /// The first two arguments in a line of proc_pid_syscall(5), which shows them as hexadecimal numbers.
  ///
  /// The result is nil if the line does not contain two arguments.
  private static func arguments(_ text: String) -> (word: UInt64, operation: UInt64)? {
    let words = text.split(separator: " ").dropFirst().prefix(2).map { word in
      UInt64(word.drop { $0 == "0" || $0 == "x" }, radix: 16) ?? 0
    }
    return words.count == 2 ? (words[0], words[1]) : nil
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
  /// The first two arguments of a system call, from the registers.
  ///
  /// On arm64, a core file lacks the first argument, because the register for this argument already contains the result
  /// of the call.
  fileprivate var firstArguments: (word: UInt64, operation: UInt64)? {
    switch self {
    case .x86_64(let context): (context.rdi, context.rsi)
    case .arm64(let context): context.x.count > 1 ? (context.x[0], context.x[1]) : nil
    }
  }

  /// True for a thread that is about to make the futex call again, because a signal has interrupted the call.
  fileprivate func isAtFutexCall(_ snapshot: ProcessSnapshot) -> Bool {
    let number = UInt64(snapshot.architecture.futexNumber)
    switch self {
    case .x86_64(let context):
      return context.rax == number
        && snapshot.memory.bytes(at: instructionPointer, count: 2)?.elementsEqual([0x0F, 0x05])
          ?? false
    case .arm64(let context):
      return context.x.count > 8 && context.x[8] == number
        && snapshot.memory.bytes(at: instructionPointer, count: 4)?
          .elementsEqual([0x01, 0, 0, 0xD4]) ?? false
    }
  }
}
