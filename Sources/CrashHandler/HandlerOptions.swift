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

  /// The defaults: the limits' own, broken pipes left alone, arguments captured.
  public init() {}
}
