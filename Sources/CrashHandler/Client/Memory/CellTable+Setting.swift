internal import CSignalSafe

/// Sets and removes values in the table for the program; the crash handler only reads the table.
extension CellTable {
  /// Sets the value of a key.
  ///
  /// - Returns: false if there is no cell for the key, if the key and the value together are longer than a cell's
  ///   capacity, or if other threads are setting the value and use all of its buffers. A key that has no value yet then
  ///   counts as left out.
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
