internal import CSignalSafe

/// What the last words need, decided and allocated at install.
///
/// RUNS-DURING-CRASH.
@safe
struct LastWords {
  /// Bytes that one write to a pipe puts there in one piece, PIPE_BUF: blocks of several processes
  /// do not mix.
  static var blockSize: Int { @_noLocks get { 4096 } }
  /// Bytes of `memory`: the block, a text of the program, the frames, the modules named.
  static var byteCount: Int {
    @_noLocks get { blockSize &+ messageSize &+ FrameTrail.byteCount &+ FrameTrail.capacity &* 8 }
  }
  /// Bytes of a message that are read.
  static var messageSize: Int { @_noLocks get { 1024 } }
  /// Milliseconds that the block may take of the handler's time, at most a quarter of it.
  private static var maximumTime: Int { @_noLocks get { 250 } }

  /// Bit n - 1 stands for signal n: those in whose crashes a block is written, or the one line that
  /// stands in front of what Swift's backtracer prints.
  let signals: UInt64
  /// What descriptor 2 was.
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

  @_noLocks
  func areWanted(for signal: Int32) -> Bool {
    SignalMask.has(signals, signal)
  }

  /// Milliseconds to keep of the time limit for the block.
  @_noLocks
  func time(of limit: Int, for signal: Int32) -> Int {
    guard areWanted(for: signal) else { return 0 }
    return limit / 4 < LastWords.maximumTime ? limit / 4 : LastWords.maximumTime
  }

  /// The lines.
  var block: Scratch {
    @_noLocks get { unsafe Scratch(memory.address, size: LastWords.blockSize) }
  }
  var message: Scratch {
    @_noLocks get {
      unsafe Scratch(
        memory.dropFirst(LastWords.blockSize).address, size: LastWords.messageSize)
    }
  }
  var frames: Scratch {
    @_noLocks get { memory.dropFirst(LastWords.blockSize &+ LastWords.messageSize) }
  }
  /// Where each module begins that the block has named, 8 bytes each.
  var modules: Scratch { @_noLocks get { frames.dropFirst(FrameTrail.byteCount) } }
}

/// What became of the dump, for the last words.
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
