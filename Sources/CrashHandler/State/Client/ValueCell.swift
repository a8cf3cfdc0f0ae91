internal import CSignalSafe
internal import IntermediateDump

/// Bytes that any thread may replace at any time, and that are read completely or not at all.
///
/// A cell has a state word and four buffers. The word shows which buffer holds the value, which buffers are being
/// written, and how often the value was replaced. To set the value, a thread takes another buffer, fills it, and
/// makes it the current one with a compare-and-swap. So a thread that is stopped while it writes, even permanently,
/// does not block other threads, and its incomplete value is never read. If two threads write at the same time, the
/// value that is swapped in last remains. If all three other buffers are in use, the new value is dropped, and the
/// old value is marked as stale. Setting never waits and never allocates.
///
/// The cell is in `ClientMemory`. The program sets the value, and crash code reads it. RUNS-DURING-CRASH. See
/// Docs/Decisions/17-what-the-program-tells.md.
@safe
struct ValueCell {
  static var bufferCount: Int { @_noLocks get { 4 } }
  /// The size in bytes of the header before a value.
  ///
  /// The header holds the size of key and value together (4 bytes), and the size of the key alone (4 bytes).
  static var headerSize: Int { @_noLocks get { 8 } }

  private let word: UnsafeMutablePointer<UInt64>
  private let buffers: UnsafeMutableRawPointer
  /// The maximum number of bytes of a value together with its key.
  let capacity: Int

  /// The number of bytes of memory that a cell takes.
  @_noLocks
  static func byteCount(capacity: Int) -> Int {
    8 &+ bufferCount &* stride(capacity)
  }

  private static func stride(_ capacity: Int) -> Int {
    headerSize &+ (capacity &+ 7) & ~7
  }

  /// Creates the cell at an address that is a multiple of 8; memory that contains zeros is a cell without a value.
  @_noLocks
  init(_ base: UnsafeMutableRawPointer, capacity: Int) {
    unsafe word = base.assumingMemoryBound(to: UInt64.self)
    unsafe buffers = base + 8
    self.capacity = capacity
  }

  var state: CellState {
    @_noLocks get { CellState(word: unsafe pm_atomic_load_64(word)) }
  }

  @_noLocks
  func exchange(_ old: CellState, _ new: CellState) -> Bool {
    unsafe pm_atomic_compare_exchange_64(word, old.word, new.word) == old.word
  }

  @_noLocks
  func buffer(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe buffers + index &* ValueCell.stride(capacity)
  }

  /// Copies the key and then the value.
  ///
  /// Other threads may still be running. If the value changes while it is copied, the copy is repeated, up to 16
  /// attempts in all.
  ///
  /// - Parameter place: memory of at least `capacity` bytes.
  @_noLocks
  func read(into place: UnsafeMutableRawPointer) -> CellReading? {
    for _ in Indices(16) {
      let state = state
      guard state.hasValue else { return nil }
      let source = unsafe buffer(state.current)
      let count = unsafe Int(pm_atomic_load(source.assumingMemoryBound(to: UInt32.self)))
      let keyCount = unsafe Int(
        pm_atomic_load((source + 4).assumingMemoryBound(to: UInt32.self)))
      if count <= capacity && keyCount <= count {
        unsafe pm_copy_bytes(place, source + ValueCell.headerSize, count)
      }
      // The word is checked again with a swap, because a swap, unlike a load, is ordered after the copy. Only the
      // version is compared, because a buffer is not reused before another buffer holds the value.
      let after = self.state
      guard after.version == state.version, exchange(after, after) else { continue }
      // Larger sizes are impossible, unless the program has overwritten the cell.
      guard count <= capacity && keyCount <= count else { break }
      return CellReading(
        count: count, keyCount: keyCount,
        state: state.isStale ? .stale : state.isBeingWritten ? .beingReplaced : nil)
    }
    return CellReading(state: .unreadable)
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

/// Sets and removes a cell's value for the program; the crash handler only reads the value.
extension ValueCell {
  /// Replaces the value.
  ///
  /// - Parameter version: the version of the value that may be replaced; nil for any version.
  /// - Returns: whether the value was set. The value is not set if another thread has replaced that version, if all
  ///   buffers are in use, or if the key and the value together are longer than the cell's capacity.
  @_noLocks
  func set(
    key: UnsafeRawPointer?, keyCount: Int, value: UnsafeRawPointer?, valueCount: Int,
    replacing version: UInt64?
  ) -> CellResult {
    guard keyCount >= 0, valueCount >= 0, keyCount <= capacity,
      valueCount <= capacity &- keyCount
    else { return .tooLong }
    let (index, failure) = take(version)
    guard index >= 0 else { return failure }
    let place = unsafe buffer(index)
    unsafe pm_atomic_store(
      place.assumingMemoryBound(to: UInt32.self),
      UInt32(truncatingIfNeeded: keyCount &+ valueCount))
    unsafe pm_atomic_store(
      (place + 4).assumingMemoryBound(to: UInt32.self), UInt32(truncatingIfNeeded: keyCount))
    if let key = unsafe key {
      unsafe pm_copy_bytes(place + ValueCell.headerSize, key, keyCount)
    }
    if let value = unsafe value {
      unsafe pm_copy_bytes(place + ValueCell.headerSize + keyCount, value, valueCount)
    }
    return show(index, replacing: version)
  }

  /// Reserves a buffer that is neither being written nor current; returns -1 and the reason if that is not possible.
  @_noLocks
  func take(_ version: UInt64?) -> (index: Int, failure: CellResult) {
    while true {
      let state = state
      if let version, version != state.version { return (-1, .overtaken) }
      let index = state.freeBuffer
      if index < 0 {
        if exchange(state, state.stale()) { return (-1, .noBuffer) }
      } else if exchange(state, state.taking(index)) {
        return (index, .done)
      }
    }
  }

  /// Makes a filled buffer the current value.
  ///
  /// If another thread has replaced the value with the given version, the buffer is released instead.
  @_noLocks
  func show(_ index: Int, replacing version: UInt64?) -> CellResult {
    while true {
      let state = state
      if let version, version != state.version {
        if exchange(state, state.giving(index)) { return .overtaken }
      } else if exchange(state, state.showing(index)) {
        return .done
      }
    }
  }

  /// Removes the value.
  ///
  /// - Parameter version: the version of the value that may be removed; nil for any version.
  @_noLocks
  func clear(replacing version: UInt64? = nil) {
    while true {
      let state = state
      if let version, version != state.version { return }
      if exchange(state, state.cleared()) { return }
    }
  }

  /// True if the value has the given key.
  ///
  /// The answer is valid only for the given state, so the caller may change the value only if the state is still the
  /// same.
  @_noLocks
  func hasKey(_ key: UnsafeRawPointer, count: Int, in state: CellState) -> Bool {
    guard state.hasValue else { return false }
    let place = unsafe buffer(state.current)
    let found = unsafe pm_atomic_load((place + 4).assumingMemoryBound(to: UInt32.self))
    guard Int(found) == count, count <= capacity else { return false }
    return unsafe pm_bytes_equal(place + ValueCell.headerSize, key, count) != 0
  }
}

extension CellState {
  /// A buffer that is not being written and does not hold the current value; -1 if there is none.
  ///
  /// Even if the value was cleared, the buffer that held it is not reused, because a reader may be copying that
  /// buffer.
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

  /// Returns the state after a written buffer has become the current value.
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
  /// The value was not changed, because another thread has replaced the version that the caller expected.
  static var overtaken: CellResult { @_noLocks get { CellResult(code: 1) } }
  /// Other threads are writing to all buffers that are not current, so the new value is dropped.
  static var noBuffer: CellResult { @_noLocks get { CellResult(code: 2) } }
  static var tooLong: CellResult { @_noLocks get { CellResult(code: 3) } }

  @_noLocks
  static func == (left: CellResult, right: CellResult) -> Bool { left.code == right.code }
  @_noLocks
  static func != (left: CellResult, right: CellResult) -> Bool { left.code != right.code }
}
