/// The parts of the dump that have been written, and the state of the dump's file.
///
/// RUNS-DURING-CRASH.
struct Progress {
  /// The state of the dump's file.
  enum File {
    /// It was not checked yet whether the descriptor still refers to the dump's file.
    case none
    /// The file is open, but the part of the dump that precedes the first section is not complete yet.
    case open
    case begun
    /// The dump's descriptor no longer refers to the dump's file, because another thread has closed or replaced it.
    case lost
  }

  var file = File.none
  /// How often the dump was begun again because it had lost its file.
  var timesBegunAgain: UInt8 = 0
  /// The sections that have begun; bit n stands for the section with raw value n.
  var begun: UInt64 = 0
  var abandoned: UInt64 = 0
  /// The section that began last, as its bit in `begun`; 0 before the first section.
  var current: UInt64 = 0
  /// The size of the dump when its bytes were last written to the file.
  var flushed: UInt64 = 0
  /// The part of the crashing thread's stack that is already in the dump.
  var writtenStack = WrittenStack()

  @_noLocks
  init() {}

  /// Marks all sections except those in `kept` as not begun.
  ///
  /// - Parameter kept: the bits of sections that need not run again, because they write nothing.
  @_noLocks
  mutating func beginAgain(keeping kept: UInt64) {
    timesBegunAgain &+= 1
    file = .none
    flushed = 0
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
