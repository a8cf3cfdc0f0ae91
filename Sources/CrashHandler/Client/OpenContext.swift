internal import CSignalSafe

/// An entry in the table of the `withContext` calls that have begun and not ended.
///
/// An entry has 128 bytes. Its first 120 bytes are a `ContextValue` with room for 96 bytes of text, which has only the
/// values of this call. The last word is the time at which the call began, from CLOCK_BOOTTIME; the word's highest bit
/// is set if the call is inside another. The checksum in word 0 also covers the last word. The checksum is set last and
/// removed first, so readers recognize an entry that is incomplete, or that was overwritten while it was copied.
///
/// The size of the table is fixed. A call for which no entry is free is only counted, so the oldest calls keep their
/// entries.
struct OpenContext {
  static let textCapacity = 96
  /// If an entry has too little room, its values are first cut to this number of bytes.
  ///
  /// Values are left out only if that is not enough.
  private static let leastValue = 16
  static let timeOffset = 120
  static let nestedBit: UInt64 = 1 << 63
  private let index: Int64
  private let seal: UInt64
  private let isNested: Bool

  /// Adds a call of `withContext` to the table.
  ///
  /// - Parameters:
  ///   - context: the values of the call and of the calls around it, with a valid checksum.
  ///   - mark: the offset, in the text of `context`, at which the call's own values begin.
  ///   - isNested: true if the call is inside another.
  ///   - uptime: the time at which the call began, by CLOCK_BOOTTIME, in nanoseconds.
  init(_ context: ContextValue, from mark: Int, isNested: Bool, uptime: UInt64) {
    self.isNested = isNested
    index = pm_claim_open_context(isNested)
    guard index >= 0 else {
      seal = 0
      return
    }
    let entry = unsafe ContextValue(pm_open_context(index))
    entry.breakSeal()
    let time = uptime & ~Self.nestedBit | (isNested ? Self.nestedBit : 0)
    entry.set(time, at: Self.timeOffset)
    if mark == 0, context.textCount <= Self.textCapacity {
      // The entry is a copy of `context`, so the checksum of `context` is used instead of computing the entry's.
      unsafe pm_copy_text(entry.base + 8, context.base + 8, context.byteCountInUse &- 8)
      seal = context.word(0) &+ ContextValue.mixed(time, at: Self.timeOffset)
    } else {
      entry.start(work: context.work)
      entry.append(
        context, from: mark, capacity: Self.textCapacity, leastValue: Self.leastValue)
      entry.pad()
      seal = entry.expectedSeal &+ ContextValue.mixed(time, at: Self.timeOffset)
    }
    unsafe pm_atomic_store_64(entry.base.assumingMemoryBound(to: UInt64.self), seal)
  }

  func close() { pm_release_open_context(index, seal, isNested) }

  /// Returns an entry that was copied from the table; nil if the entry is incomplete or was overwritten.
  static func context(at entry: UnsafeMutableRawPointer) -> ContextValue? {
    let context = unsafe ContextValue(entry)
    guard context.word(16) &>> 32 == 0, context.textCount <= textCapacity,
      context.word(0)
        == context.expectedSeal &+ ContextValue.mixed(context.word(timeOffset), at: timeOffset)
    else { return nil }
    return context
  }
}
