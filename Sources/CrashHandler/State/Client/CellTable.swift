internal import CSignalSafe

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
