/// The functions that wait for an asynchronous one to return: its callers, which are on no stack.
public struct AsyncCalls: Sendable, Equatable {
  /// Which frame of the trace is the asynchronous function that they wait for; nil if that frame
  /// is not listed.
  public var calleeIndex: Int?
  /// Innermost first: each where it will go on.
  public var frames: [StackFrame] = []
  /// Callers that are not in `frames`, between the innermost and the outermost.
  public var omittedCount = 0
  /// How many of `frames` come before the omitted ones.
  public var omittedAfter = 0
  /// True if the last caller's own caller is not known: its memory is not in the dump.
  public var isCut = false

  public init() {}
}
