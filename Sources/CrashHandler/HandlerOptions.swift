/// Options of the handler; each has a default.
public struct HandlerOptions: Sendable, Equatable {
  /// Limits of a dump.
  public var limits = CaptureLimits()
  /// Whether a write to a closed pipe is a crash.
  ///
  /// Most servers ignore SIGPIPE, which this never undoes.
  public var catchesBrokenPipe = false
  /// Whether dumps hold the program's arguments, which may be credentials.
  ///
  /// The environment is never in a dump.
  public var capturesArguments = true
  /// System calls that a crash must not make, because a seccomp filter kills the process on them.
  ///
  /// `Docs/Operations.md` lists those that a crash makes.
  public var forgoing: SystemCalls = []

  /// Whether a crash leaves a summary on standard error: signal, message, report ID and the
  /// crashing thread's frames, for logs.
  ///
  /// One line where Swift's own backtracer prints; nothing where standard error was
  /// closed or another file when the handler was started.
  public var writesSummary = true

  /// Whether every thread gets an alternate stack, without which an overflow of its own stack ends
  /// the process with no dump.
  ///
  /// Threads that exist are interrupted for it once, so that calls such as `nanosleep` and `poll`
  /// may end with EINTR in them. Off, only the thread that calls `startHandler` gets one, and those
  /// that call `installAlternateStack`.
  public var alternateStacksOnAllThreads = true

  /// Paths of files that are copied beside every report of this process, as by `addAttachment`.
  public var attachments: [String] = []

  /// Whether the next start says how this run ended, where it ends without a dump and not by its own
  /// will: out of memory, killed, and so on.
  ///
  /// Such a report is never uploaded unless somebody asks for it. TERM, INT, HUP and PIPE get a handler
  /// where their action is the default, which follows then as ever. Not where `forgoing` has
  /// `.files`.
  public var reportsUncleanEnds = true

  /// The defaults: the limits' own, broken pipes left alone, arguments captured, a summary, alternate
  /// stacks, unclean ends reported, no system call forgone, no attachments.
  public init() {}
}
