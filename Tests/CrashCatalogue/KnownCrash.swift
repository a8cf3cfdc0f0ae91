internal import Glibc
public import Testing

/// What a kind of crash must leave behind, written down from signal(7), sigaction(2) and the source of the victim.
public struct KnownCrash: Sendable, CustomTestStringConvertible {
  /// How the fault's address is known.
  public enum Address: Sendable {
    case exactly(UInt64)
    /// The faulting instruction's own.
    case instruction
    /// Somewhere that only the run decides; gdb knows it from the core file.
    case any
    /// The signal has none.
    case none
  }

  public let kind: String
  public internal(set) var signal: Int32
  /// `si_code` on x86_64; of an overflow on the main thread, whose stack ends where nothing is mapped: others have a guard.
  public internal(set) var code: Int32
  public internal(set) var address: Address
  /// A part of the name of the victim's function that crashed.
  public let function: String
  /// What the Swift runtime or libc said; nil where nothing is said, or not in every build.
  public var message: String?
  /// A part of the report's explanation.
  public var explanation: String?
  public var places = CrashPlace.allCases
  /// Whether the thread's stack has no room for a handler: it takes an alternate one to see it.
  public var overflowsStack = false
  /// Whether this thread crashes, and not one that the kernel chooses, or another process.
  public var isOnItsThread = true
  /// Seconds that it takes to die, beside the handler's.
  public var delay = 0

  public var testDescription: String { kind }

  /// Those that debuggers look at too, on every kind of thread.
  public static let debugged: [KnownCrash] = {
    let names: Set = [
      "null-read", "wild-pointer", "execute-data", "truncated-file", "divide-by-zero",
      "illegal-instruction", "breakpoint", "abort", "double-free", "fatal-error",
      "index-out-of-range", "seccomp",
    ]
    return all.filter { names.contains($0.kind) }
  }()

  public static let all = memory + processor + library + runtime + stack + enforced + sent
}

extension KnownCrash {
  private static let memory: [KnownCrash] = [
    KnownCrash(
      kind: "null-read", signal: 11, code: 1, address: .exactly(0), function: "crash_null_read",
      explanation: "A read of address 0: a null pointer was dereferenced."),
    KnownCrash(
      kind: "null-write", signal: 11, code: 1, address: .exactly(0), function: "crash_null_write",
      explanation: "A write to address 0: a null pointer was dereferenced."),
    KnownCrash(
      kind: "null-call", signal: 11, code: 1, address: .exactly(0), function: "crash_null_call",
      explanation: "A call or jump through a null function pointer."),
    KnownCrash(
      kind: "wild-pointer", signal: 11, code: 1, address: .exactly(0x1234_5678_9ab0),
      function: "crash_wild_pointer", explanation: "where nothing is mapped"),
    // The processor gives no address: SI_KERNEL.
    KnownCrash(
      kind: "non-canonical", signal: 11, code: 128, address: .none,
      function: "crash_non_canonical", explanation: "A general protection fault"),
    KnownCrash(
      kind: "execute-data", signal: 11, code: 2, address: .instruction,
      function: "crash_execute_data", explanation: "which is not executable"),
    KnownCrash(
      kind: "write-to-code", signal: 11, code: 2, address: .any,
      function: "crash_write_to_code", explanation: "which is not writable"),
    KnownCrash(
      kind: "freed-page", signal: 11, code: 1, address: .any, function: "crash_freed_page",
      explanation: "A read of"),
    KnownCrash(
      kind: "prot-none", signal: 11, code: 2, address: .any, function: "crash_prot_none",
      explanation: "which allows no access at all"),
    KnownCrash(
      kind: "truncated-file", signal: 7, code: 2, address: .any,
      function: "crash_truncated_file", explanation: "The file may have been truncated."),
    KnownCrash(
      kind: "misaligned", signal: 7, code: 1, address: .any, function: "crash_misaligned",
      explanation: "An access to a misaligned address"),
  ]

  private static let processor: [KnownCrash] = [
    KnownCrash(
      kind: "divide-by-zero", signal: 8, code: 1, address: .instruction,
      function: "crash_divide_by_zero", explanation: "An integer division by zero"),
    KnownCrash(
      kind: "illegal-instruction", signal: 4, code: 2, address: .instruction,
      function: "crash_illegal_instruction", explanation: "Trap instruction"),
    KnownCrash(
      kind: "builtin-trap", signal: 4, code: 2, address: .instruction,
      function: "crash_builtin_trap", explanation: "Trap instruction"),
    // SI_KERNEL, which comes without an address.
    KnownCrash(
      kind: "breakpoint", signal: 5, code: 128, address: .none, function: "crash_breakpoint",
      explanation: "A breakpoint instruction was executed"),
  ]

  // tgkill(2): SI_TKILL.
  private static let library: [KnownCrash] = [
    KnownCrash(
      kind: "abort", signal: 6, code: -6, address: .none, function: "crash_abort",
      explanation: "The process called abort()"),
    KnownCrash(
      kind: "assert", signal: 6, code: -6, address: .none, function: "crash_assert",
      message: "Assertion `crashes == 0' failed", explanation: "A C assertion failed"),
    KnownCrash(
      kind: "double-free", signal: 6, code: -6, address: .none, function: "crash_double_free",
      message: "free(): double free detected in tcache 2",
      explanation: "glibc detected heap corruption"),
    KnownCrash(
      kind: "stack-smash", signal: 6, code: -6, address: .none, function: "crash_stack_smash",
      message: "stack smashing detected", explanation: "glibc detected stack smashing"),
    KnownCrash(
      kind: "cxx-exception", signal: 6, code: -6, address: .none, function: "crash_cxx_exception",
      message: "type std::runtime_error: nobody catches this either",
      explanation: "std::runtime_error was most likely not caught"),
    KnownCrash(
      kind: "cxx-noexcept", signal: 6, code: -6, address: .none, function: "crash_cxx_noexcept",
      message: "ImportError: line 3 has no comma", explanation: "was most likely not caught"),
    KnownCrash(
      kind: "pure-virtual", signal: 6, code: -6, address: .none, function: "crash_pure_virtual",
      explanation: "The process called abort()"),
  ]

  private static let runtime: [KnownCrash] = [
    KnownCrash(
      kind: "fatal-error", signal: 4, code: 2, address: .instruction,
      function: "crash_fatal_error", message: "crash-lab says goodbye",
      explanation: "The Swift runtime stopped the process"),
    KnownCrash(
      kind: "precondition", signal: 4, code: 2, address: .instruction,
      function: "crash_precondition"),
    KnownCrash(
      kind: "unwrap-nil", signal: 4, code: 2, address: .instruction,
      function: "crash_unwrap_nil"),
    KnownCrash(
      kind: "index-out-of-range", signal: 4, code: 2, address: .instruction,
      function: "crash_index_out_of_range"),
    KnownCrash(
      kind: "integer-overflow", signal: 4, code: 2, address: .instruction,
      function: "crash_integer_overflow", explanation: "Trap instruction"),
    KnownCrash(
      kind: "forced-cast", signal: 6, code: -6, address: .none, function: "crash_forced_cast",
      message: "Could not cast value of type", explanation: "The Swift runtime"),
    KnownCrash(
      kind: "unowned-after-free", signal: 6, code: -6, address: .none,
      function: "crash_unowned_after_free", message: "Attempted to read an unowned reference",
      explanation: "The Swift runtime"),
    KnownCrash(
      kind: "exclusivity", signal: 6, code: -6, address: .none, function: "crash_exclusivity"),
    KnownCrash(
      kind: "try-bang", signal: 4, code: 2, address: .instruction, function: "crash_try_bang",
      message: "'try!' expression unexpectedly raised an error",
      explanation: "The Swift runtime stopped the process"),
    KnownCrash(
      kind: "uncaught-error", signal: 4, code: 2, address: .instruction, function: "CrashLab",
      message: "nobody catches this", explanation: "The Swift runtime stopped the process",
      places: [.main]),
    KnownCrash(
      kind: "main-actor", signal: 4, code: 2, address: .instruction,
      function: "crash_main_actor", places: [.pthread, .dispatch, .task]),
    KnownCrash(
      kind: "continuation", signal: 4, code: 2, address: .instruction, function: "continuation",
      message: "tried to resume its continuation more than once", places: [.task],
      isOnItsThread: false),
    KnownCrash(
      kind: "allocation-failure", signal: 6, code: -6, address: .none,
      function: "crash_allocation_failure", message: "failed to allocate",
      explanation: "An allocation failed."),
    KnownCrash(
      kind: "await-chain", signal: 11, code: 1, address: .exactly(0),
      function: "crash_null_write",
      explanation: "A write to address 0: a null pointer was dereferenced.", places: [.task],
      isOnItsThread: false),
  ]

  private static let stack: [KnownCrash] = [
    KnownCrash(
      kind: "stack-overflow", signal: 11, code: 1, address: .any,
      function: "crash_stack_overflow", explanation: "Stack overflow",
      overflowsStack: true),
    KnownCrash(
      kind: "huge-frame", signal: 11, code: 1, address: .any, function: "crash_huge_frame",
      explanation: "Stack overflow", overflowsStack: true),
    KnownCrash(
      kind: "alloca", signal: 11, code: 1, address: .any, function: "crash_alloca",
      explanation: "Stack overflow", overflowsStack: true),
    KnownCrash(
      kind: "deep", signal: 11, code: 1, address: .exactly(0), function: "crash_null_write",
      explanation: "A write to address 0: a null pointer was dereferenced."),
  ]

  private static let enforced: [KnownCrash] = [
    // SYS_SECCOMP: si_call_addr is not a fault's address.
    KnownCrash(
      kind: "seccomp", signal: 31, code: 1, address: .none, function: "crash_seccomp",
      explanation: "is not allowed by a seccomp filter"),
    KnownCrash(
      kind: "cpu-limit", signal: 24, code: 128, address: .none, function: "",
      explanation: "The process used up the CPU time", places: [.main, .pthread],
      isOnItsThread: false, delay: 1),
    KnownCrash(
      kind: "file-size-limit", signal: 25, code: 0, address: .none,
      function: "crash_file_size_limit", explanation: "RLIMIT_FSIZE",
      places: [.main, .pthread]),
    KnownCrash(
      kind: "pipe", signal: 13, code: 0, address: .none, function: "crash_pipe",
      explanation: "A write to a pipe or socket"),
  ]

  // SI_USER: sent, not a fault, so there is no address.
  private static let sent: [KnownCrash] = [
    KnownCrash(
      kind: "sent-segv", signal: 11, code: 0, address: .none, function: "crash_sent",
      explanation: "The signal SIGSEGV was sent by process", places: [.main],
      isOnItsThread: false),
    KnownCrash(
      kind: "sent-abort", signal: 6, code: 0, address: .none, function: "crash_sent",
      explanation: "The signal SIGABRT was sent by process", places: [.main],
      isOnItsThread: false),
    KnownCrash(
      kind: "sent-quit", signal: 3, code: 0, address: .none, function: "crash_sent",
      explanation: "The signal SIGQUIT was sent by process", places: [.main],
      isOnItsThread: false),
  ]
}

/// An end that no handler sees, and that must leave nothing that looks like a crash.
public struct QuietEnd: Sendable {
  public let kind: String
  public var places: [CrashPlace] = [.main]

  /// False where this machine or user cannot make it: a cgroup takes root and a mounted hierarchy.
  public var canBeHad: Bool {
    guard kind == "out-of-memory" else { return true }
    let files: [String] = [
      "/sys/fs/cgroup/cgroup.controllers", "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    guard unsafe access("/sys/fs/cgroup", W_OK) == 0 else { return false }
    return files.contains { unsafe access($0, F_OK) == 0 }
  }

  public static let all: [QuietEnd] = [
    QuietEnd(kind: "exit", places: CrashPlace.allCases),
    QuietEnd(kind: "quick-exit", places: CrashPlace.allCases),
    QuietEnd(kind: "return"),
    QuietEnd(kind: "exec", places: [.main, .pthread]),
    QuietEnd(kind: "killed", places: CrashPlace.allCases),
    QuietEnd(kind: "out-of-memory"),
    QuietEnd(kind: "terminated", places: [.main, .pthread]),
    QuietEnd(kind: "term-handled"),
    QuietEnd(kind: "term-then-kill"),
  ]
}
