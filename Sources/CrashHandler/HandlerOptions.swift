/// How the handler works in this process; all that has a default.
public struct HandlerOptions: Sendable, Equatable {
  /// What a dump may hold at most.
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

  /// The defaults: the limits' own, broken pipes left alone, arguments captured, no system call
  /// forgone.
  public init() {}
}
