internal import IntermediateDump
package import ProcessSnapshot

/// The reference counts in the second word of a Swift object's header.
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

  /// The second word of an object with one strong reference and no other.
  static var ofNewObject: UInt64 { 3 }

  /// True if the number of unowned references is known; false, for example, if the side table cannot be read.
  package var isCounted: Bool { state == .deinitializing || state == .alive && strong > 0 }

  /// Decodes a word; nil if it cannot be the reference counts of an object.
  ///
  /// - Parameters:
  ///   - word: the second word of the object.
  ///   - read: reads a word of the process, to get the counts from a side table.
  package init?(_ word: UInt64, read: (Address) -> UInt64?) {
    if word == IntermediateDumpFormat.replacedWord {
      self.init(state: .leftOut)
      return
    }
    guard let counts = ReferenceCountWord(word) else { return nil }
    guard case .sideTable(let table) = counts else {
      self.init(counts)
      return
    }
    // A side table begins with the address of its object, and contains the counts in its third word.
    if let word = read(Address(table) &+ 16) {
      guard let counts = ReferenceCountWord(word) else { return nil }
      self.init(counts)
    } else {
      self.init(state: .alive)
    }
    hasSideTable = true
  }

  private init(state: State) { self.state = state }

  /// Returns nil if the counts are in a side table.
  private init?(_ word: ReferenceCountWord) {
    switch word {
    case .immortal: self.init(state: .immortal)
    case .sideTable: return nil
    case .counts(let counts):
      self.init(state: counts.isDeinitializing ? .deinitializing : .alive)
      if state == .alive { strong = counts.extraStrong &+ 1 }
      unowned = counts.unowned &- 1
    }
  }
}
