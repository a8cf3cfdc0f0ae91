/// The content of one slot of a `BreadcrumbRing`; text and metadata share the room in the slot.
@safe
struct BreadcrumbContent {
  let text: UnsafeRawPointer
  let textCount: Int
  let metadata: UnsafeRawPointer
  let metadataCount: Int
  let level: UInt8

  /// The word at offset 28 of a slot, which holds the sizes of text and metadata and the level.
  var counts: UInt32 {
    @_noLocks get {
      UInt32(truncatingIfNeeded: textCount) | UInt32(truncatingIfNeeded: metadataCount) &<< 8
        | UInt32(level) &<< 24
    }
  }
}
