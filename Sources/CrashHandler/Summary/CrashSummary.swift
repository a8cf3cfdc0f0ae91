internal import CSignalSafe

/// The lines that a crash leaves on standard error: decided and allocated at launch.
///
/// RUNS-DURING-CRASH.
@safe
struct CrashSummary {
  /// Bytes that one write to a pipe puts there in one piece, PIPE_BUF: summaries of several
  /// processes do not mix.
  static var textSize: Int { @_noLocks get { 4096 } }
  /// Bytes of a message that are read.
  private static var messageSize: Int { @_noLocks get { 1024 } }
  /// Milliseconds that it may take of the handler's time, at most a quarter of it.
  private static var maximumTime: Int { @_noLocks get { 250 } }

  /// Bytes of `memory`.
  static var byteCount: Int {
    @_noLocks get { textSize &+ messageSize &+ FrameChain.byteCount &+ FrameChain.capacity &* 8 }
  }

  /// Bit n - 1 stands for signal n: those in whose crashes a summary is written, or the one line
  /// that stands in front of what Swift's backtracer prints.
  let signals: UInt64
  /// Descriptor 2 at launch.
  let standardError: HeldFile
  /// As given to `startHandler`; empty for none.
  let product: Bytes
  let version: Bytes
  private let memory: Scratch

  @_noLocks
  init(
    signals: UInt64, standardError: HeldFile, product: Bytes, version: Bytes, memory: Scratch
  ) {
    self.signals = signals
    self.standardError = standardError
    self.product = product
    self.version = version
    self.memory = memory
  }

  /// Milliseconds to keep of the time limit for it; 0 where none is wanted.
  @_noLocks
  func time(of limit: Int, for signal: Int32) -> Int {
    guard SignalMask.has(signals, signal) else { return 0 }
    return limit / 4 < CrashSummary.maximumTime ? limit / 4 : CrashSummary.maximumTime
  }

  /// The lines.
  var text: Scratch {
    @_noLocks get { unsafe Scratch(memory.address, size: CrashSummary.textSize) }
  }
  var message: Scratch {
    @_noLocks get {
      unsafe Scratch(
        memory.dropFirst(CrashSummary.textSize).address, size: CrashSummary.messageSize)
    }
  }
  var frames: Scratch {
    @_noLocks get { memory.dropFirst(CrashSummary.textSize &+ CrashSummary.messageSize) }
  }
  /// The start of each module that was named, 8 bytes each.
  var modules: Scratch { @_noLocks get { frames.dropFirst(FrameChain.byteCount) } }
}

/// The outcome of the dump.
///
/// RUNS-DURING-CRASH.
struct DumpOutcome {
  /// True once a file was there to write to.
  var hasFile = false
  /// True once every byte of it, the end mark included, was written.
  var isComplete = false
  /// True once the name without `.locked` is its own.
  var isRenamed = false
  /// The errno of what failed first; 0 if nothing did.
  var failure: Int32 = 0

  @_noLocks
  init() {}
}
