/// Limits for a dump; the dump records how much was left out because of them.
public struct CaptureLimits: Sendable, Equatable {
  /// The maximum number of bytes that are captured from the crashing thread's stack.
  ///
  /// If the stack is longer, three quarters of this limit go to the innermost frames, and one quarter goes to the
  /// outermost frames, where the thread began.
  public var crashingThreadStack = 1 << 20
  /// The maximum number of bytes that are captured from each other thread's stack.
  public var otherThreadStack = 32 << 10
  /// The maximum number of bytes captured from all other threads' stacks together; each thread gets an equal share.
  ///
  /// A share has at least 1 KiB, even if all shares together then exceed this maximum. Three quarters of a share go to
  /// the innermost frames, and one quarter goes to the outermost frames.
  public var otherThreadStacks = 6 << 20
  /// The maximum number of threads that are captured; values above 4,096 have no effect.
  public var threads = 4096
  /// The maximum time from the crash until this handler is done, in whole milliseconds; the minimum is 1 ms.
  ///
  /// Anything that is not written within that time is left out of the dump. If the capturing thread gets little CPU
  /// time, the dump may take ten times this time, or longer. Previous handlers and the kernel's core dump come later,
  /// and have no time limit.
  public var time = Duration.seconds(3)
  /// The maximum number of bytes captured from all ranges passed to `ExtraMemory.add` together.
  public var extraMemory = 1 << 20
  /// The maximum size of the whole dump in bytes; memory that does not fit is left out.
  ///
  /// Values of at most 272 bytes, such as numbers and names, are written even beyond this size.
  public var dump = 64 << 20
  /// The maximum number of reports about crashes that the process survived or may have survived.
  ///
  /// Further crashes go directly to the previous handler, without a dump, so that a program that survives many
  /// crashes does not fill the disk. The limit does not apply to a fault that no previous handler handles, because
  /// such a fault ends the process.
  public var survivedCrashes = 16

  /// Creates limits with the default values.
  public init() {}
}
