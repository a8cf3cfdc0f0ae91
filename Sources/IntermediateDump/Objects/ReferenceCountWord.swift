/// The second word of a Swift object, which contains its reference counts or refers to them.
///
/// Source: swift stdlib/public/SwiftShims/swift/shims/RefCount.h, RefCountBitOffsets<8>.
package enum ReferenceCountWord: Sendable {
  /// The object is never freed.
  case immortal
  /// The counts are in a side table at this address.
  case sideTable(UInt64)
  /// The word contains the counts.
  case counts(Counts)

  package struct Counts: Sendable {
    /// The number of strong references, without one.
    package let extraStrong: UInt64
    /// The number of unowned references, including one that stands for all strong ones.
    package let unowned: UInt64
    package let isDeinitializing: Bool
  }

  /// The bits of a reference count that is kept even if a dump or report leaves out secrets: at most 64 strong and 63
  /// unowned references, the mark that the object is being deinitialized, and bit 0, which is set in every native Swift
  /// object.
  ///
  /// Larger counts are left out, because memory that only looks like an object may have a secret in this place.
  ///
  /// RUNS-DURING-CRASH.
  package static var smallCounts: UInt64 { @_noLocks get { 0x7F_0000_007F } }

  /// Returns nil if the word cannot be the second word of an object.
  ///
  /// RUNS-DURING-CRASH.
  @_noLocks
  package init?(_ word: UInt64) {
    let low = word & 0xFFFF_FFFF
    if word &>> 62 == 0b11 {
      // The word contains the side table's address, shifted right by three bits.
      let table = word &<< 3
      guard word &>> 45 == 0b11 &<< 17, table >= 0x10000 else { return nil }
      self = .sideTable(table)
    } else if low == 0xFFFF_FFFF {
      self = .immortal
    } else {
      // Bit 0 is set in every native Swift object. The unowned count is at least 1. More than 2^24 strong or 2^20
      // unowned references are not plausible.
      guard word & 0xFE00_0000_FFE0_0001 == 1, low > 1 else { return nil }
      self = .counts(
        Counts(
          extraStrong: word &>> 33, unowned: low &>> 1, isDeinitializing: word &>> 32 & 1 == 1))
    }
  }
}
