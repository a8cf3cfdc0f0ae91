internal import CSignalSafe
internal import IntermediateDump

/// A table with room for a fixed number of keys and their values, which any thread can set and remove.
///
/// Two threads that set the same new key at the same time may each take a free cell. Readers use the first cell with
/// that key. When the key is set again, the other cells with the key are cleared.
///
/// The table is in `ClientMemory`. RUNS-DURING-CRASH; set by the program.
@safe
struct CellTable {
  let base: UnsafeMutableRawPointer
  let count: Int
  let capacity: Int
  /// How many entries were left out because there was no room for them.
  let omitted: FutexWord

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
}

/// The state word of a `ValueCell`.
///
/// Bits 0 to 3 mark the buffers that are being written. Bits 4 and 5 contain the number of the buffer that holds the
/// value. Bit 6 is set if there is a value, and bit 7 if a later value was dropped. The bits from 8 on count how
/// often the value has changed.
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
}

/// The result of reading a `ValueCell`.
///
/// RUNS-DURING-CRASH.
struct CellReading {
  struct Kind: Equatable {
    private let code: UInt8

    private init(code: UInt8) { self.code = code }

    static var empty: Kind { @_noLocks get { Kind(code: 0) } }
    static var value: Kind { @_noLocks get { Kind(code: 1) } }
    /// The cell has a value, but the value changed faster than it could be copied, or other data overwrote it.
    static var unreadable: Kind { @_noLocks get { Kind(code: 2) } }

    @_noLocks
    static func == (left: Kind, right: Kind) -> Bool { left.code == right.code }
    @_noLocks
    static func != (left: Kind, right: Kind) -> Bool { left.code != right.code }
  }

  let kind: Kind
  let count: Int
  let keyCount: Int
  /// True if the program has set a later value that was dropped.
  let isStale: Bool
  /// True if a thread was writing a later value.
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

  /// The annotation's state, as a report shows it; nil if the report shows no state.
  var state: AnnotationState? {
    @_noLocks get {
      if kind == .unreadable { return .unreadable }
      return isStale ? .stale : isBeingWritten ? .beingReplaced : nil
    }
  }
}
