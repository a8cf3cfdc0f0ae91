/// The progress of a dump.
///
/// RUNS-DURING-CRASH.
struct Progress {
  /// The state of the dump's file.
  enum File {
    /// The dump's file has not been checked yet.
    case none
    /// There is a file, without the first tokens.
    case open
    case begun
    /// Another thread has replaced the file's descriptor by another file.
    case lost
  }

  var file = File.none
  /// The number of times that the dump was started again because it had lost its file.
  var timesBegunAgain: UInt8 = 0
  /// Bit n stands for section n.
  var begun: UInt64 = 0
  var abandoned: UInt64 = 0
  /// The bit of the section that began last.
  var current: UInt64 = 0
  /// The part of the crashing thread's stack that is already in the dump.
  var writtenStack = WrittenStack()

  @_noLocks
  init() {}

  /// Forgets all sections except some.
  ///
  /// - Parameter kept: the bits of sections that write nothing.
  @_noLocks
  mutating func beginAgain(keeping kept: UInt64) {
    timesBegunAgain &+= 1
    file = .none
    writtenStack = WrittenStack()
    begun &= kept
    abandoned &= kept
  }

  var hasLostFile: Bool {
    @_noLocks get {
      if case .lost = file { true } else { false }
    }
  }
}
