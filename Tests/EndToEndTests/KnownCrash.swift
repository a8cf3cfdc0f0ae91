import Testing

/// What a kind of crash must leave behind, written down from signal(7), sigaction(2) and the source of the victim.
struct KnownCrash: Sendable, CustomTestStringConvertible {
  /// How the fault's address is known.
  enum Address: Sendable {
    case exactly(UInt64)
    /// The faulting instruction's own.
    case instruction
    /// Somewhere that only the run decides; gdb knows it from the core file.
    case any
    /// The signal has none.
    case none
  }

  let kind: String
  let signal: Int32
  /// `si_code` on x86_64.
  let code: Int32
  let address: Address
  /// A part of the name of the victim's function that crashed.
  let function: String
  /// What the Swift runtime or libc said; nil where nothing is said, or not in every build.
  var message: String?

  var testDescription: String { kind }

  static let all: [KnownCrash] = [
    KnownCrash(
      kind: "null-read", signal: 11, code: 1, address: .exactly(0), function: "crash_null_read"),
    KnownCrash(
      kind: "wild-pointer", signal: 11, code: 1, address: .exactly(0x1234_5678_9ab0),
      function: "crash_wild_pointer"),
    KnownCrash(
      kind: "execute-data", signal: 11, code: 2, address: .instruction,
      function: "crash_execute_data"),
    KnownCrash(
      kind: "truncated-file", signal: 7, code: 2, address: .any, function: "crash_truncated_file"),
    KnownCrash(
      kind: "divide-by-zero", signal: 8, code: 1, address: .instruction,
      function: "crash_divide_by_zero"),
    KnownCrash(
      kind: "illegal-instruction", signal: 4, code: 2, address: .instruction,
      function: "crash_illegal_instruction"),
    // SI_KERNEL, which comes without an address.
    KnownCrash(
      kind: "breakpoint", signal: 5, code: 128, address: .none, function: "crash_breakpoint"),
    // tgkill(2): SI_TKILL.
    KnownCrash(kind: "abort", signal: 6, code: -6, address: .none, function: "crash_abort"),
    KnownCrash(
      kind: "double-free", signal: 6, code: -6, address: .none, function: "crash_double_free",
      message: "free(): double free detected in tcache 2"),
    KnownCrash(
      kind: "fatal-error", signal: 4, code: 2, address: .instruction,
      function: "crash_fatal_error", message: "crash-lab says goodbye"),
    KnownCrash(
      kind: "index-out-of-range", signal: 4, code: 2, address: .instruction,
      function: "crash_index_out_of_range"),
    // SYS_SECCOMP: si_call_addr is not a fault's address.
    KnownCrash(kind: "seccomp", signal: 31, code: 1, address: .none, function: "crash_seccomp"),
  ]
}

/// Where in the victim a crash happens.
enum CrashPlace: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case main
  case pthread
  case dispatch
  case task
  /// Made before the handler started.
  case earlierThread = "earlier-thread"
  case earlierWorker = "earlier-worker"

  /// A thread of each kind.
  static let kinds: [CrashPlace] = [.main, .pthread, .dispatch, .task]

  var testDescription: String { rawValue }

  /// A part of the name of the frame that the victim puts below the crash.
  var function: String {
    switch self {
    case .main: "CrashLab"
    case .pthread, .earlierThread: "onPthread"
    case .dispatch, .earlierWorker: "onDispatchWorker"
    case .task: "onTask"
    }
  }
}
