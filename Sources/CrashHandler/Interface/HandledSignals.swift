internal import IntermediateDump

/// A set of signals that the handler treats as crashes.
///
/// ```swift
/// var options = HandlerOptions()
/// options.signals.insert(.brokenPipe)
/// options.signals.remove(.quit)
/// ```
///
/// Signal numbers are always those of Linux on x86_64 and arm64, even if the program is built for another system.
///
/// Source: signal(7), "Standard signals".
public struct HandledSignals: OptionSet, Sendable {
  /// Bit n - 1 stands for signal n; bits of signals that are not listed here have no effect.
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  private init(_ signal: Int32) { rawValue = 1 << UInt64(signal - 1) }

  /// SIGABRT: for example, `abort`, a failed C assertion, or an uncaught C++ exception.
  public static let abort = HandledSignals(6)
  /// SIGBUS: for example, access to a page of a file that was truncated, or misaligned access.
  public static let busError = HandledSignals(7)
  /// SIGFPE: for example, an integer division by zero in C.
  public static let arithmetic = HandledSignals(8)
  /// SIGILL: for example, most traps in Swift code on x86_64.
  public static let illegalInstruction = HandledSignals(4)
  /// SIGSEGV: for example, access to memory that is not mapped, or access that the mapping does not permit.
  public static let segmentationFault = HandledSignals(11)
  /// SIGSYS: for example, a system call that a seccomp filter traps.
  public static let badSystemCall = HandledSignals(31)
  /// SIGTRAP: for example, traps in Swift code on arm64, and breakpoints without a debugger.
  public static let trap = HandledSignals(5)
  /// SIGXCPU: the limit on CPU time was reached.
  public static let processorTimeLimit = HandledSignals(24)
  /// SIGXFSZ: a write beyond the limit on file sizes.
  public static let fileSizeLimit = HandledSignals(25)
  /// SIGQUIT: a request to end the process with a core file.
  ///
  /// This signal is not handled if the process has a controlling terminal and its standard input is a terminal, because
  /// users send the signal there by pressing a key.
  public static let quit = HandledSignals(3)
  /// SIGPIPE: a write to a closed pipe or socket.
  ///
  /// This signal is captured only if the program chooses it; if the program ignores the signal, as most servers do, it
  /// stays ignored.
  public static let brokenPipe = HandledSignals(13)
  /// SIGSTKFLT: the kernel never sends this signal, but a program may use it for its own purposes.
  public static let stackFault = HandledSignals(16)

  /// The signals that an instruction can raise.
  public static let faults: HandledSignals = .init(rawValue: SignalTable.mask(.fault))
  /// All signals except `brokenPipe` and `stackFault`.
  public static let standard: HandledSignals = .init(rawValue: SignalTable.mask(.captured))
  /// Every signal that can be captured.
  package static let all = standard.union(
    HandledSignals(rawValue: SignalTable.mask(.capturedIfAsked)))
}
