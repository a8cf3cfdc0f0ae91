/// The word of a `ValueCell`.
///
/// Bits 0 to 3: the buffers that are being written. 4 and 5: the one that holds the value. 6: there
/// is a value. 7: a later one was given up. From 8 on: counts the changes of the value.
///
/// RUNS-DURING-CRASH.
struct CellState {
  let word: UInt64

  @_noLocks
  init(word: UInt64) { self.word = word }

  var version: UInt64 { @_noLocks get { word &>> 8 } }
  var hasValue: Bool { @_noLocks get { word & 0x40 != 0 } }
  var isStale: Bool { @_noLocks get { word & 0x80 != 0 } }
  var isBeingWritten: Bool { @_noLocks get { word & 0x0F != 0 } }
  var current: Int { @_noLocks get { Int(truncatingIfNeeded: word &>> 4 & 3) } }

  /// A buffer that nobody writes and that is not the value's; -1 if there is none.
  ///
  /// The value's last one is kept even where the value was cleared: somebody may be copying it.
  var freeBuffer: Int {
    @_noLocks get {
      var index = 0
      while index < ValueCell.bufferCount {
        if index != current && word & bit(index) == 0 { return index }
        index &+= 1
      }
      return -1
    }
  }

  @_noLocks
  func taking(_ buffer: Int) -> CellState { CellState(word: word | bit(buffer)) }

  @_noLocks
  func giving(_ buffer: Int) -> CellState { CellState(word: word & ~bit(buffer)) }

  /// The state in which a buffer that was being written is the value.
  @_noLocks
  func showing(_ buffer: Int) -> CellState {
    let writing = word & 0x0F & ~bit(buffer)
    return CellState(
      word: (version &+ 1) &<< 8 | 0x40 | UInt64(truncatingIfNeeded: buffer) &<< 4 | writing)
  }

  @_noLocks
  func cleared() -> CellState {
    CellState(word: (version &+ 1) &<< 8 | word & 0x3F)
  }

  @_noLocks
  func stale() -> CellState { CellState(word: word | 0x80) }

  @_noLocks
  private func bit(_ buffer: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: buffer) }
}

/// What became of a value that was to be set.
///
/// RUNS-DURING-CRASH.
struct CellResult: Equatable {
  private let code: UInt8

  @_noLocks
  private init(code: UInt8) { self.code = code }

  static var done: CellResult { @_noLocks get { CellResult(code: 0) } }
  /// The value is not the one any more that was to be replaced.
  static var overtaken: CellResult { @_noLocks get { CellResult(code: 1) } }
  /// Three threads are in the middle of writing it.
  static var noBuffer: CellResult { @_noLocks get { CellResult(code: 2) } }
  static var tooLong: CellResult { @_noLocks get { CellResult(code: 3) } }

  @_noLocks
  static func == (left: CellResult, right: CellResult) -> Bool { left.code == right.code }
  @_noLocks
  static func != (left: CellResult, right: CellResult) -> Bool { left.code != right.code }
}

/// What was found in a `ValueCell`.
///
/// RUNS-DURING-CRASH.
struct CellReading {
  struct Kind: Equatable {
    private let code: UInt8

    @_noLocks
    private init(code: UInt8) { self.code = code }

    static var empty: Kind { @_noLocks get { Kind(code: 0) } }
    static var value: Kind { @_noLocks get { Kind(code: 1) } }
    /// There is one, but it changed faster than it could be copied, or was written over.
    static var unreadable: Kind { @_noLocks get { Kind(code: 2) } }

    @_noLocks
    static func == (left: Kind, right: Kind) -> Bool { left.code == right.code }
    @_noLocks
    static func != (left: Kind, right: Kind) -> Bool { left.code != right.code }
  }

  let kind: Kind
  let count: Int
  let keyCount: Int
  /// A later value was given up.
  let isStale: Bool
  /// A later value was being written.
  let isBeingWritten: Bool

  @_noLocks
  init(
    _ kind: Kind, count: Int = 0, keyCount: Int = 0, isStale: Bool = false,
    isBeingWritten: Bool = false
  ) {
    self.kind = kind
    self.count = count
    self.keyCount = keyCount
    self.isStale = isStale
    self.isBeingWritten = isBeingWritten
  }

  /// As the dump's `annotationState` numbers it; 0 for a value with nothing to be said of it.
  var stateCode: UInt64 {
    @_noLocks get {
      if kind == .unreadable { return 3 }
      return isStale ? 2 : isBeingWritten ? 1 : 0
    }
  }
}
