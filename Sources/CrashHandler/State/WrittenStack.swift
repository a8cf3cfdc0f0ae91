/// The part of a stack that is already in the dump: two ranges of bytes.
///
/// RUNS-DURING-CRASH.
struct WrittenStack {
  var first = AddressRange()
  var second = AddressRange()

  @_noLocks
  init() {}

  /// The end of the written range that contains an address; the address itself if no written range contains it.
  @inline(never) @_noLocks
  func end(around address: UInt64) -> UInt64 {
    if first.contains(address) { return first.end }
    return second.contains(address) ? second.end : address
  }

  /// The start of the next written range between an address and a limit; the limit if there is none.
  @inline(never) @_noLocks
  func start(above address: UInt64, below limit: UInt64) -> UInt64 {
    var result = limit
    if first.count > 0, first.start > address, first.start < result { result = first.start }
    if second.count > 0, second.start > address, second.start < result { result = second.start }
    return result
  }

  /// The number of bytes of a given range that are already in the dump.
  @_noLocks
  func count(from start: UInt64, to end: UInt64) -> Int {
    var result = 0
    var place = start
    while place < end {
      let next = self.end(around: place)
      if next > place {
        result &+= Int(truncatingIfNeeded: (next < end ? next : end) &- place)
        place = next
      } else {
        place = self.start(above: place, below: end)
      }
    }
    return result
  }
}
