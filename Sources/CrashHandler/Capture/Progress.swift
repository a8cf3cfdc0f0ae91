/// How far a dump is.
///
/// RUNS-DURING-CRASH.
struct Progress {
  /// What of the dump is in its file.
  enum File {
    /// No file is known to be ours yet.
    case none
    /// There is one, without the first tokens.
    case open
    case begun
    /// Another thread has put another file in its place.
    case lost
  }

  var file = File.none
  /// How often the dump was begun again because it had lost its file.
  var timesBegunAgain: UInt8 = 0
  /// Bit n stands for section n.
  var begun: UInt64 = 0
  var abandoned: UInt64 = 0
  /// The bit of the section that began last.
  var current: UInt64 = 0

  @_noLocks
  init() {}

  /// Forgets all but the sections that write nothing.
  @_noLocks
  mutating func beginAgain() {
    timesBegunAgain &+= 1
    file = .none
    let kept = Section.stopThreads.bit | Section.readMappings.bit
    begun &= kept
    abandoned &= kept
  }

  var hasLostFile: Bool {
    @_noLocks get {
      if case .lost = file { true } else { false }
    }
  }
}
