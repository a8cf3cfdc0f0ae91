internal import CSignalSafe
internal import IntermediateDump

/// A fixed number of keys with a value each, set and removed by any thread.
///
/// Two threads that set the same new key at once may both find a free cell. Readers take the first
/// cell that has a key, and setting it again clears the others.
///
/// Lies in `ClientMemory`. RUNS-DURING-CRASH; set by the program.
@safe
struct CellTable {
  private let base: UnsafeMutableRawPointer
  let count: Int
  let capacity: Int
  /// Counts what found no room.
  private let omitted: FutexWord

  @_noLocks
  static func byteCount(count: Int, capacity: Int) -> Int {
    count &* ValueCell.byteCount(capacity: capacity)
  }

  @_noLocks
  init(_ base: UnsafeMutableRawPointer, count: Int, capacity: Int, omitted: FutexWord) {
    unsafe self.base = base
    self.count = count
    self.capacity = capacity
    self.omitted = omitted
  }

  var omittedCount: UInt32 { @_noLocks get { omitted.value } }

  @_noLocks
  func cell(_ index: Int) -> ValueCell {
    unsafe ValueCell(base + index &* ValueCell.byteCount(capacity: capacity), capacity: capacity)
  }

  /// Gives a key a value.
  ///
  /// - Returns: false if it found no room, which is counted, or was given up because others are in
  ///   the middle of setting it.
  @_noLocks
  func set(
    key: UnsafeRawPointer, keyCount: Int, value: UnsafeRawPointer? = nil, valueCount: Int = 0
  ) -> Bool {
    while true {
      var target = -1
      var version: UInt64 = 0
      var isFound = false
      var index = 0
      while index < count && !isFound {
        let state = cell(index).state
        isFound = unsafe cell(index).hasKey(key, count: keyCount, in: state)
        if isFound || (target < 0 && !state.hasValue) {
          target = index
          version = state.version
        }
        index &+= 1
      }
      guard target >= 0 else {
        omitted.add(1)
        return false
      }
      let result = unsafe cell(target).set(
        key: key, keyCount: keyCount, value: value, valueCount: valueCount, replacing: version)
      if result == .overtaken { continue }
      guard result == .done else {
        if !isFound { omitted.add(1) }
        return false
      }
      if isFound { unsafe clear(key, keyCount, from: target &+ 1) }
      return true
    }
  }

  /// Takes a key away.
  @_noLocks
  func remove(key: UnsafeRawPointer, keyCount: Int) {
    unsafe clear(key, keyCount, from: 0)
  }

  private func clear(_ key: UnsafeRawPointer, _ keyCount: Int, from first: Int) {
    var index = first
    while index < count {
      let state = cell(index).state
      if unsafe cell(index).hasKey(key, count: keyCount, in: state) {
        cell(index).clear(replacing: state.version)
      }
      index &+= 1
    }
  }
}

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

  private func bit(_ buffer: Int) -> UInt64 { 1 &<< UInt64(truncatingIfNeeded: buffer) }
}

/// The outcome of setting a value.
///
/// RUNS-DURING-CRASH.
struct CellResult: Equatable {
  private let code: UInt8

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

/// The contents of a `ValueCell`.
///
/// RUNS-DURING-CRASH.
struct CellReading {
  struct Kind: Equatable {
    private let code: UInt8

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

  /// Nil for a value with nothing to be said of it.
  var state: AnnotationState? {
    @_noLocks get {
      if kind == .unreadable { return .unreadable }
      return isStale ? .stale : isBeingWritten ? .beingReplaced : nil
    }
  }
}
