/// The progress of a dump.
///
/// RUNS-DURING-CRASH.
struct Progress {
  /// The state of the dump's file.
  enum File {
    /// The dump's file has not been checked yet.
    case none
    /// There is one, without the first tokens.
    case open
    case begun
    /// Another thread has put another file in its place.
    case lost
  }

  var file = File.none
  /// Times that the dump was begun again because it had lost its file.
  var timesBegunAgain: UInt8 = 0
  /// Bit n stands for section n.
  var begun: UInt64 = 0
  var abandoned: UInt64 = 0
  /// The bit of the section that began last.
  var current: UInt64 = 0
  /// The part of the crashing thread's stack that is in the dump already.
  var writtenStack = WrittenStack()

  @_noLocks
  init() {}

  /// Forgets all but some sections.
  ///
  /// - Parameter kept: those that write nothing, by bits.
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
