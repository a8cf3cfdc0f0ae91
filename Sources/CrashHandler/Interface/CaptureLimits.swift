/// Limits of a dump; what a limit cut is counted in the dump.
public struct CaptureLimits: Sendable, Equatable {
  /// Bytes of the crashing thread's stack; of a longer one three quarters from the top, where it
  /// crashed, and one quarter from the bottom, where it began.
  public var crashingThreadStack = 1 << 20
  /// Bytes of every other thread's stack, from where it stood.
  public var otherThreadStack = 32 << 10
  /// Bytes of the stacks of all other threads together, in equal shares.
  ///
  /// A share has 1 KiB at least, three quarters of it from where the thread stood.
  public var otherThreadStacks = 6 << 20
  /// Threads that are captured; 4,096 at most.
  public var threads = 4096
  /// The time from the fault to the end of our own part, in whole milliseconds, at least one.
  ///
  /// Anything not written by then is left out. Previous handlers and the kernel's core file
  /// come after it.
  public var time = Duration.seconds(3)
  /// Bytes of all memory ranges together that `ExtraMemory.add` named.
  public var extraMemory = 1 << 20
  /// Bytes of the whole dump; memory is left out once it has grown to this.
  public var dump = 64 << 20
  /// Crashes that the process survived, or may have, and that get a report.
  ///
  /// Further ones go straight to the handler that was there before, without a dump, so that a
  /// program that lives on by crashing does not fill the disk. A crash that ends the process always
  /// gets one.
  public var survivedCrashes = 16

  /// Makes limits with the defaults.
  public init() {}
}
