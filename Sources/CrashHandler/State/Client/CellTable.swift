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
  /// How often an entry was left out because there was no room for it.
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
  /// True if the program has set a later value that was dropped.
  var isStale: Bool { @_noLocks get { word & 0x80 != 0 } }
  /// True if a later value is being written.
  var isBeingWritten: Bool { @_noLocks get { word & 0x0F != 0 } }
  var current: Int { @_noLocks get { Int(truncatingIfNeeded: word &>> 4 & 3) } }
}

/// The result of reading a `ValueCell` that has a value.
///
/// RUNS-DURING-CRASH.
struct CellReading {
  let count: Int
  let keyCount: Int
  /// The annotation's state, as a report shows it; nil if the report shows no state.
  let state: AnnotationState?

  @_noLocks
  init(count: Int = 0, keyCount: Int = 0, state: AnnotationState? = nil) {
    self.count = count
    self.keyCount = keyCount
    self.state = state
  }

  /// False if the value changed faster than it could be copied, or if the program has overwritten the cell's memory.
  var isReadable: Bool {
    @_noLocks get { if case .some(.unreadable) = state { false } else { true } }
  }
}
