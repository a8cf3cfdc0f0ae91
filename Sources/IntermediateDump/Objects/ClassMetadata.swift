/// Where metadata of a class contains the words that identify the class, in bytes from the address to which pointers to
/// the metadata point.
///
/// Source: swift include/swift/ABI/Metadata.h, TargetClassMetadata.
package enum ClassMetadata {
  package static var sizesOffset: Int { @_noLocks get { 32 } }
  package static var descriptorOffset: Int { @_noLocks get { 40 } }
  /// The size of the metadata up to and including the descriptor.
  package static var size: Int { @_noLocks get { 48 } }
  /// The words from here to the end of the metadata may be generic arguments; at most the first 256 bytes of metadata
  /// are searched for them.
  package static var argumentsOffset: Int { @_noLocks get { 56 } }
  package static var searchedSize: Int { @_noLocks get { 256 } }

  /// True for metadata of a class, if its first word is 0.
  ///
  /// The kind of a class is 0, so zeroed memory looks the same. So the two sizes in the metadata, and the descriptor,
  /// must also be plausible.
  ///
  /// RUNS-DURING-CRASH.
  ///
  /// - Parameter sizes: nil if the word was removed from the dump.
  @_noLocks
  package static func isPlausible(sizes: UInt64?, descriptor: UInt64) -> Bool {
    if let sizes {
      let whole = sizes & 0xFFFF_FFFF
      guard whole >= 48, sizes &>> 32 < whole else { return false }
    }
    return descriptor >= 0x10000 && descriptor & 3 == 0
  }

  /// The offset of the end of the metadata, at most `searchedSize`.
  ///
  /// - Parameter sizes: the word with two sizes: that of the whole metadata, and that of the part before the address to
  ///   which pointers point.
  ///
  /// RUNS-DURING-CRASH.
  @_noLocks
  package static func end(sizes: UInt64) -> Int {
    let end = (sizes & 0xFFFF_FFFF) &- sizes &>> 32
    return end < UInt64(truncatingIfNeeded: searchedSize)
      ? Int(truncatingIfNeeded: end) : searchedSize
  }
}
