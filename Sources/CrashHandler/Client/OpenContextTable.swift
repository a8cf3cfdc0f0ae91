internal import CSignalSafe

/// Reads the table of open contexts while the program changes it; not for crash code, which copies the whole table.
enum OpenContextTable {
  private static let headSize = 64

  /// Returns a table with only one entry, the context that has been open for the longest time, or with no entry if no
  /// context is open.
  ///
  /// All other units of work are added to the returned table's count of `withContext` calls that have no entry.
  ///
  /// - Returns: nil if no context was ever opened.
  static func oldest() -> [UInt8]? {
    let used = pm_open_contexts_used()
    guard used > 0 else { return nil }
    var copy = unsafe [UInt8](UnsafeRawBufferPointer(start: pm_open_contexts(), count: used))
    return unsafe copy.withUnsafeMutableBytes { table in
      guard let base = table.baseAddress else { return nil }
      return unsafe oldest(in: base, count: used)
    }
  }

  private static func oldest(in base: UnsafeMutableRawPointer, count used: Int) -> [UInt8] {
    func word(_ offset: Int) -> UInt64 {
      unsafe base.load(fromByteOffset: offset, as: UInt64.self)
    }
    let (shards, entrySize) = (Int(PM_OPEN_CONTEXT_SHARDS), Int(PM_OPEN_CONTEXT_SIZE))
    let first = headSize + shards * headSize
    var works: Set<UInt64> = []
    var leftOut: UInt64 = 0
    var (oldest, least) = (-1, UInt64.max)
    for shard in 0..<shards {
      leftOut &+= word(headSize + shard * headSize + 8)
    }
    for index in 0..<(used - first) / entrySize {
      let place = first + index * entrySize
      guard word(headSize + index % shards * headSize) >> (index / shards) & 1 != 0,
        let context = unsafe OpenContext.context(at: base + place)
      else { continue }
      works.insert(context.work)
      let time = word(place + OpenContext.timeOffset) & ~OpenContext.nestedBit
      if time < least { (oldest, least) = (place, time) }
    }
    // The returned table has one shard, whose lowest bit marks the only entry as used.
    var table = [UInt64](repeating: 0, count: 16)
    table[0] = 1
    table[1] = UInt64(headSize * 2 + (oldest < 0 ? 0 : entrySize))
    table[8] = oldest < 0 ? 0 : 1
    table[9] = leftOut &+ UInt64(works.count) &- table[8]
    let head = unsafe table.withUnsafeBytes { unsafe [UInt8]($0) }
    guard oldest >= 0 else { return head }
    return unsafe head + UnsafeRawBufferPointer(start: base + oldest, count: entrySize)
  }
}
