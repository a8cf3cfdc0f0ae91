/// The frames of one thread, innermost first, and what was left out.
public struct StackTrace: Sendable, Equatable {
  /// Why a walk ended.
  public enum End: String, Sendable {
    /// The thread's first function was reached.
    case bottom
    /// No method found a caller that could be believed.
    case lost
    /// The walk's own bound on frames.
    case limit
    /// The thread has no instruction pointer.
    case noContext
  }

  public var frames: [StackFrame] = []
  /// Frames of a deep recursion that were walked but are not in `frames`; calls inlined into them
  /// are not counted.
  public var omittedCount = 0
  /// How many of `frames` come before the omitted ones.
  public var omittedAfter = 0
  /// True if the walk crossed a part of the stack that the dump left out: more frames are missing,
  /// uncounted.
  public var hasGap = false
  /// The longest recursion on the stack, the frames that are not in `frames` included.
  public var recursion: Recursion?
  public var end: End = .noContext
  /// The callers of the innermost asynchronous function, for a thread that runs a task; nil where
  /// there are none, or their memory is not in the dump.
  public var asyncCalls: AsyncCalls?

  public init() {}
}
