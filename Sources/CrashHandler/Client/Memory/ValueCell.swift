internal import CSignalSafe

/// A value of bytes that any thread may replace at any time, and that is read whole or not at all.
///
/// A word and four buffers. The word says which buffer holds the value, which ones are being
/// written, and how often the value was replaced. A setter takes a buffer that is neither,
/// fills it, and makes it the value by one compare-and-swap. So a thread that is stopped in the
/// middle, for good too, holds up nobody and shows nothing of what it wrote; of two at once the
/// last one's swap counts. If all three spare buffers are taken, the new value is given up and
/// the old one is marked as stale. Nothing waits, nothing is allocated.
///
/// Lies in `ClientMemory`. RUNS-DURING-CRASH; set by the program. Decision 0023.
@safe
struct ValueCell {
  static var bufferCount: Int { @_noLocks get { 4 } }
  /// In front of the bytes: how many there are (4), and how many of them are the key (4).
  private static var headerSize: Int { 8 }

  private let word: UnsafeMutablePointer<UInt64>
  private let buffers: UnsafeMutableRawPointer
  /// Bytes of the longest value, its key included.
  let capacity: Int

  /// Bytes that a cell takes.
  @_noLocks
  static func byteCount(capacity: Int) -> Int {
    8 &+ bufferCount &* stride(capacity)
  }

  private static func stride(_ capacity: Int) -> Int {
    headerSize &+ (capacity &+ 7) & ~7
  }

  /// The cell at an address that is a multiple of 8; zeros are a cell without a value.
  @_noLocks
  init(_ base: UnsafeMutableRawPointer, capacity: Int) {
    unsafe word = base.assumingMemoryBound(to: UInt64.self)
    unsafe buffers = base + 8
    self.capacity = capacity
  }

  var state: CellState {
    @_noLocks get { CellState(word: unsafe pm_atomic_load_64(word)) }
  }

  private func exchange(_ old: CellState, _ new: CellState) -> Bool {
    unsafe pm_atomic_compare_exchange_64(word, old.word, new.word) == old.word
  }

  @_noLocks
  func buffer(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe buffers + index &* ValueCell.stride(capacity)
  }

  // MARK: - Setting

  /// Replaces the value.
  ///
  /// - Parameter version: the version that may be replaced; nil for any.
  /// - Returns: whether it was; not where somebody else was faster, or the buffers are all taken.
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

  /// Takes a buffer that nobody reads or writes; -1 and why if there is none.
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

  /// Makes a buffer that was taken and filled the value, or gives it back.
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

  /// Takes the value away.
  ///
  /// - Parameter version: the version that may be; nil for any.
  @_noLocks
  func clear(replacing version: UInt64? = nil) {
    while true {
      let state = state
      if let version, version != state.version { return }
      if exchange(state, state.cleared()) { return }
    }
  }

  // MARK: - Reading

  /// Whether the value has a key.
  ///
  /// The answer is for the state given: who acts on it does so for that version only.
  @_noLocks
  func hasKey(_ key: UnsafeRawPointer, count: Int, in state: CellState) -> Bool {
    guard state.hasValue else { return false }
    let place = unsafe buffer(state.current)
    let found = unsafe pm_atomic_load((place + 4).assumingMemoryBound(to: UInt32.self))
    guard Int(found) == count, count <= capacity else { return false }
    return unsafe pm_bytes_equal(place + ValueCell.headerSize, key, count) != 0
  }

  /// Copies the value, key first.
  ///
  /// Other threads may still be running; a value that changes while it is copied is copied again,
  /// a few times.
  ///
  /// - Parameter place: at least `capacity` bytes.
  @_noLocks
  func read(into place: UnsafeMutableRawPointer) -> CellReading {
    var attempts = 0
    while attempts < 16 {
      attempts &+= 1
      let state = state
      guard state.hasValue else { return CellReading(.empty) }
      let source = unsafe buffer(state.current)
      let count = unsafe Int(pm_atomic_load(source.assumingMemoryBound(to: UInt32.self)))
      let keyCount = unsafe Int(
        pm_atomic_load((source + 4).assumingMemoryBound(to: UInt32.self)))
      if count <= capacity && keyCount <= count {
        unsafe pm_copy_bytes(place, source + ValueCell.headerSize, count)
      }
      // By a swap, which unlike a load is ordered behind the copying. Only the version matters: a
      // buffer is not written before another value was shown.
      let after = self.state
      guard after.version == state.version, exchange(after, after) else { continue }
      // A program that wrote over it: not what was told.
      guard count <= capacity && keyCount <= count else { return CellReading(.unreadable) }
      return CellReading(
        .value, count: count, keyCount: keyCount, isStale: state.isStale,
        isBeingWritten: state.isBeingWritten)
    }
    return CellReading(.unreadable)
  }
}
