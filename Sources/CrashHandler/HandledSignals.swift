internal import Glibc

/// Signals that are crashes for the handler.
///
/// ```swift
/// var options = HandlerOptions()
/// options.signals.insert(.brokenPipe)
/// options.signals.remove(.quit)
/// ```
///
/// Source: signal(7), "Standard signals".
public struct HandledSignals: OptionSet, Sendable {
  /// Bit n - 1 stands for signal n; other bits than those of the members have no effect.
  public let rawValue: UInt64

  public init(rawValue: UInt64) { self.rawValue = rawValue }

  private init(_ signal: Int32) { rawValue = 1 << UInt64(signal - 1) }

  /// SIGABRT: `abort`, a failed assertion of C, an uncaught C++ exception.
  public static let abort = HandledSignals(SIGABRT)
  /// SIGBUS: a page of a file that is not there any more, misaligned access.
  public static let busError = HandledSignals(SIGBUS)
  /// SIGFPE: division by zero in C.
  public static let arithmetic = HandledSignals(SIGFPE)
  /// SIGILL: most traps of Swift on x86_64.
  public static let illegalInstruction = HandledSignals(SIGILL)
  /// SIGSEGV.
  public static let segmentationFault = HandledSignals(SIGSEGV)
  /// SIGSYS: a system call that a seccomp filter traps.
  public static let badSystemCall = HandledSignals(SIGSYS)
  /// SIGTRAP: traps of Swift on arm64, breakpoints without a debugger.
  public static let trap = HandledSignals(SIGTRAP)
  /// SIGXCPU: the limit of processor time.
  public static let processorTimeLimit = HandledSignals(SIGXCPU)
  /// SIGXFSZ: the limit of a file's size.
  public static let fileSizeLimit = HandledSignals(SIGXFSZ)
  /// SIGQUIT, but where standard input is a terminal, at which it is a key.
  public static let quit = HandledSignals(SIGQUIT)
  /// SIGPIPE: a write to a closed pipe or socket.
  ///
  /// Most servers ignore it, which this never undoes.
  public static let brokenPipe = HandledSignals(SIGPIPE)

  /// Those that an instruction raises.
  public static let faults: HandledSignals = [
    .illegalInstruction, .trap, .busError, .arithmetic, .segmentationFault, .badSystemCall,
  ]
  /// All but `brokenPipe`.
  public static let standard: HandledSignals = [
    .faults, .abort, .processorTimeLimit, .fileSizeLimit, .quit,
  ]
}
