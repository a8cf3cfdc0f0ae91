internal import IntermediateDump
package import ProcessSnapshot

/// The reference counts in the second word of a Swift object's header.
///
/// Source: swift stdlib/public/SwiftShims/swift/shims/RefCount.h, RefCountBitOffsets<8>.
package struct ReferenceCount: Sendable, Equatable {
  package enum State: String, Sendable {
    case alive
    /// The object is never freed, because it is, for example, a literal or another object that the compiler allocated
    /// statically.
    case immortal
    /// The object's deinitializer is running, or has run while unowned references still keep the memory.
    case deinitializing
    /// The counts were left out of the report, because the word that contains them may have been a secret.
    case leftOut = "left-out"
  }

  package var state: State
  /// The number of strong references.
  ///
  /// The number is 0 if the object is immortal or being deinitialized, if the side table cannot be read, or if the
  /// counts were left out.
  package var strong: UInt64 = 0
  /// The number of unowned references, without the one that all strong references share.
  package var unowned: UInt64 = 0
  /// True if the counts are in a side table, which is needed for weak references and for very large counts.
  package var hasSideTable = false

  /// True if the number of unowned references is known; false, for example, if the side table cannot be read.
  package var isCounted: Bool { state == .deinitializing || state == .alive && strong > 0 }

  private static let sideTableMark: UInt64 = 0b11 << 62

  /// Decodes a word; nil if it cannot be the reference counts of an object.
  ///
  /// - Parameters:
  ///   - word: the second word of the object.
  ///   - read: reads a word of the process, to get the counts from a side table.
  package init?(_ word: UInt64, read: (Address) -> UInt64?) {
    if word == ProcessSnapshot.replacedWord {
      self.init(state: .leftOut)
      return
    }
    guard word & Self.sideTableMark == Self.sideTableMark else {
      self.init(counts: word)
      return
    }
    // The word contains the side table's address, shifted right by three bits.
    let table = Address((word & ~Self.sideTableMark) << 3)
    guard table.value >= 0x1_0000, table.value < 0x1_0000_0000_0000 else { return nil }
    // A side table begins with the address of its object, and contains the counts in its third word.
    if let counts = read(table &+ 16) {
      self.init(counts: counts)
    } else {
      self.init(state: .alive)
    }
    hasSideTable = true
  }

  private init(state: State) { self.state = state }

  private init?(counts word: UInt64) {
    let low = UInt32(truncatingIfNeeded: word)
    if low == .max {
      self.init(state: .immortal)
      return
    }
    // Bit 0 of the counts is set in every native Swift object. The unowned count is at least 1, because it includes one
    // reference that stands for all strong ones. More than 2^24 strong or 2^20 unowned references are not plausible.
    let extra = word >> 33
    let unowned = UInt64(low >> 1)
    guard word >> 63 == 0, low & 1 == 1, unowned > 0, extra < 1 << 24, unowned < 1 << 20 else {
      return nil
    }
    self.init(state: word >> 32 & 1 == 1 ? .deinitializing : .alive)
    if state == .alive { strong = extra &+ 1 }
    self.unowned = unowned &- 1
  }

  /// The counts as text, for example "strong 2, unowned 1".
  package var text: String {
    switch state {
    case .immortal: return "immortal"
    case .leftOut: return "counts left out"
    case .deinitializing:
      return "being deinitialized" + (unowned > 0 ? ", unowned \(unowned)" : "")
    case .alive:
      guard strong > 0 else { return "counts in a side table" }
      return "strong \(strong)" + (unowned > 0 ? ", unowned \(unowned)" : "")
        + (hasSideTable ? ", side table" : "")
    }
  }
}
