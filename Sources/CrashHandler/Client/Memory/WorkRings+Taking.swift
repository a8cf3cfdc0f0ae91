internal import CSignalSafe

/// Assigns rings of breadcrumbs to units of work while the program runs; the crash handler only reads the rings.
extension WorkRings {
  /// The offset of the table with the time of each ring's last use.
  ///
  /// Three tables with one word for each ring precede the rings: the keys of the units of work at offset 0, the times
  /// of the last uses, and the numbers of the next breadcrumbs.
  static var usesOffset: Int { @_noLocks get { 4096 } }

  private func index(of work: UInt64, from first: Int) -> Int? {
    var index = first
    while index < first &+ WorkRings.ways {
      if unsafe pm_atomic_load_64(word(0, index)) == work { return index }
      index &+= 1
    }
    return nil
  }

  /// Returns the breadcrumb ring of a unit of work.
  ///
  /// A unit of work without a ring is given the least recently used ring in its bucket. The result is nil if four
  /// attempts fail because other units of work take the ring first.
  @_noLocks
  func ring(of work: UInt64, uptime: UInt64) -> BreadcrumbRing? {
    let first = bucket(work)
    var attempts = 0
    while attempts < 4 {
      if let index = index(of: work, from: first) {
        unsafe pm_atomic_store_64(word(WorkRings.usesOffset, index), uptime)
        return ring(index)
      }
      let oldest = oldest(from: first)
      let owner = unsafe word(0, oldest)
      let old = unsafe pm_atomic_load_64(owner)
      // Before the ring is taken, its time of last use is set to the current time, so that another thread takes a
      // different ring.
      unsafe pm_atomic_store_64(word(WorkRings.usesOffset, oldest), uptime)
      if unsafe pm_atomic_compare_exchange_64(owner, old, work) == old { return ring(oldest) }
      attempts &+= 1
    }
    return nil
  }

  private func oldest(from first: Int) -> Int {
    var oldest = first
    var least = UInt64.max
    var index = first
    while index < first &+ WorkRings.ways {
      let use = unsafe pm_atomic_load_64(word(WorkRings.usesOffset, index))
      if use < least { (oldest, least) = (index, use) }
      index &+= 1
    }
    return oldest
  }

  /// Releases the ring of a unit of work: another unit of work takes this ring before any used ring of the bucket.
  @_noLocks
  func retire(_ work: UInt64) {
    guard let index = index(of: work, from: bucket(work)) else { return }
    unsafe pm_atomic_store_64(word(WorkRings.usesOffset, index), 0)
  }
}

extension WorkKey {
  @_noLocks
  static func context(_ number: UInt64) -> UInt64 { 1 &<< 62 | number & (1 &<< 62 &- 1) }
}
