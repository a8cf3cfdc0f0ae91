internal import CSignalSafe

/// Makes the keys of units of work, which are `withContext` calls, tasks and threads.
///
/// RUNS-DURING-CRASH.
enum WorkKey {
  @_noLocks
  static func context(_ number: UInt64) -> UInt64 { 1 &<< 62 | number & (1 &<< 62 &- 1) }

  @_noLocks
  static func task(_ id: UInt64) -> UInt64 { 1 &<< 63 | id & (1 &<< 62 &- 1) }

  @_noLocks
  static func thread(_ id: Int32) -> UInt64 { UInt64(UInt32(bitPattern: id)) }
}

/// The last breadcrumbs of each of 512 units of work.
///
/// The key of a unit of work selects a bucket of eight rings. A unit of work without a ring takes the least recently
/// used ring in its bucket. A finished unit's ring counts as never used, so it is taken first. Each slot contains the
/// key of its unit of work, so that a reassigned ring does not show breadcrumbs of its previous unit.
///
/// The rings are in the memory that `pm_ring_memory` returns, not in `ClientMemory`. RUNS-DURING-CRASH; filled by the
/// program.
@safe
struct WorkRings {
  static var ways: Int { @_noLocks get { 8 } }
  private static var buckets: Int { 64 }
  /// The number of breadcrumbs in a ring.
  static var ringCount: Int { @_noLocks get { 16 } }
  private static var nextsOffset: Int { 8192 }
  private static var ringsOffset: Int { 12288 }

  private let base: UnsafeMutableRawPointer

  /// The rings of all units of work in the process.
  static var ofProcess: WorkRings {
    @_noLocks get { unsafe WorkRings(pm_ring_memory()) }
  }

  /// - Parameter base: memory of `PM_RING_MEMORY_SIZE` bytes that contains zeros.
  @_noLocks
  init(_ base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  @_noLocks
  func word(_ offset: Int, _ index: Int) -> UnsafeMutablePointer<UInt64> {
    unsafe (base + (offset &+ index &* 8)).assumingMemoryBound(to: UInt64.self)
  }

  @_noLocks
  func ring(_ index: Int) -> BreadcrumbRing {
    let size = WorkRings.ringCount &* BreadcrumbRing.stride
    return unsafe BreadcrumbRing(
      base + (WorkRings.ringsOffset &+ index &* size), count: WorkRings.ringCount,
      next: word(WorkRings.nextsOffset, index))
  }

  /// Returns the index of the first of the `ways` rings (a bucket) that a unit of work can use.
  @_noLocks
  func bucket(_ work: UInt64) -> Int {
    let hash = (work &* 0x9E37_79B9_7F4A_7C15) &>> 58
    return Int(truncatingIfNeeded: hash) & (WorkRings.buckets &- 1) &* WorkRings.ways
  }

  /// Copies the next breadcrumb of a unit of work.
  ///
  /// A unit of work may have several rings; within a ring, the oldest breadcrumb comes first.
  ///
  /// - Parameters:
  ///   - next: the position at which the search begins; set to the position after the breadcrumb that was found.
  ///   - place: memory of at least `BreadcrumbRing.stride` bytes, to which the breadcrumb is copied.
  /// - Returns: the number of bytes of the breadcrumb's text; -1 if there are no more breadcrumbs.
  @_noLocks
  func read(_ work: UInt64, next: inout Int, into place: UnsafeMutableRawPointer) -> Int {
    let first = bucket(work)
    while next < WorkRings.ways &* WorkRings.ringCount {
      let ring = ring(first &+ next / WorkRings.ringCount)
      let offset = UInt64(truncatingIfNeeded: next % WorkRings.ringCount)
      let (end, kept) = (ring.leftCount, UInt64(truncatingIfNeeded: WorkRings.ringCount))
      let number = (end > kept ? end &- kept : 0) &+ offset
      next &+= 1
      guard number < end else { continue }
      let count = unsafe ring.read(number, into: place)
      if count >= 0, unsafe place.loadUnaligned(fromByteOffset: 8, as: UInt64.self) == work {
        return count
      }
    }
    return -1
  }
}

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
