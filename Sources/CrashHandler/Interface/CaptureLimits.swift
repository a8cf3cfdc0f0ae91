/// Limits of a dump; the dump counts what each limit left out.
public struct CaptureLimits: Sendable, Equatable {
  /// The maximum number of bytes of the crashing thread's stack.
  ///
  /// A longer stack is cut to three quarters of this from the top, where it crashed, and one quarter from the bottom,
  /// where it began.
  public var crashingThreadStack = 1 << 20
  /// The maximum number of bytes of each other thread's stack, from its stack pointer.
  public var otherThreadStack = 32 << 10
  /// The maximum number of bytes of all other threads' stacks together, in equal shares.
  ///
  /// A share has at least 1 KiB, three quarters of it from the thread's stack pointer.
  public var otherThreadStacks = 6 << 20
  /// The maximum number of captured threads: at most 4,096.
  public var threads = 4096
  /// The time from the fault to the end of this handler's part, in whole milliseconds, at least one.
  ///
  /// Anything not written by then is left out. Previous handlers and the kernel's core file
  /// come after it.
  public var time = Duration.seconds(3)
  /// The maximum number of bytes of all ranges of `ExtraMemory.add` together.
  public var extraMemory = 1 << 20
  /// The maximum number of bytes of the whole dump; memory beyond it is left out.
  public var dump = 64 << 20
  /// The maximum number of reports of crashes that the process survived or may have survived.
  ///
  /// Further crashes go directly to the previous handler, without a dump, so that a program that survives many
  /// crashes does not fill the disk. A crash that ends the process always gets a report.
  public var survivedCrashes = 16

  /// Makes limits with the defaults.
  public init() {}
}
