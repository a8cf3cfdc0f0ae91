/// A range of addresses.
///
/// RUNS-DURING-CRASH.
struct AddressRange {
  let start: UInt64
  let count: Int

  @_noLocks
  init(start: UInt64 = 0, count: Int = 0) {
    self.start = start
    self.count = count
  }

  var end: UInt64 { @_noLocks get { start &+ UInt64(truncatingIfNeeded: count) } }

  @_noLocks
  func contains(_ address: UInt64) -> Bool {
    address &- start < UInt64(truncatingIfNeeded: count)
  }
}
