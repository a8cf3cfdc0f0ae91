/// Limits of a dump; the dump shows how much each limit has left out.
public struct CaptureLimits: Sendable, Equatable {
  /// The maximum number of bytes of the crashing thread's stack.
  ///
  /// If a stack is longer, the innermost frames get three quarters of this limit. The outermost frames, where the
  /// thread began, get one quarter.
  public var crashingThreadStack = 1 << 20
  /// The maximum number of bytes of each other thread's stack, counted from the thread's stack pointer.
  public var otherThreadStack = 32 << 10
  /// The maximum number of bytes of all other threads' stacks together, divided into equal shares.
  ///
  /// A share has at least 1 KiB. Three quarters of a share begin at the thread's stack pointer.
  public var otherThreadStacks = 6 << 20
  /// The maximum number of threads that are captured; values above 4,096 have no effect.
  public var threads = 4096
  /// The maximum time from the fault until this handler is done, in whole milliseconds, at least one.
  ///
  /// The dump leaves out what is not written in that time. Previous handlers and the kernel's core file come later,
  /// and are not limited.
  public var time = Duration.seconds(3)
  /// The maximum number of bytes of all ranges of `ExtraMemory.add` together.
  public var extraMemory = 1 << 20
  /// The maximum number of bytes of the whole dump; memory that does not fit is left out.
  public var dump = 64 << 20
  /// The maximum number of reports about crashes that the process survived or may have survived.
  ///
  /// Further crashes go directly to the previous handler, without a dump, so that a program that survives many
  /// crashes does not fill the disk. A crash that ends the process always gets a report.
  public var survivedCrashes = 16

  /// Creates limits with the default values.
  public init() {}
}
