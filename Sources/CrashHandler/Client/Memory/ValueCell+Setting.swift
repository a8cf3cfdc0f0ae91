internal import CSignalSafe

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
