internal import CSignalSafe

/// Adds the program's breadcrumbs to a ring; the crash handler only reads the ring.
extension BreadcrumbRing {
  static var metadataCountOffset: Int { @_noLocks get { 29 } }

  /// Adds a breadcrumb.
  ///
  /// - Parameters:
  ///   - content: the breadcrumb's text, then its metadata, at most 224 bytes in all.
  ///   - work: the number of the unit of work to which the breadcrumb belongs (`WorkKey`).
  ///   - uptime: the current time from CLOCK_BOOTTIME, in nanoseconds.
  @_noLocks
  func leave(
    _ content: BreadcrumbContent, work: UInt64, uptime: UInt64, threadID: Int32
  ) {
    guard let number = take() else { return }
    let slot = unsafe slot(number)
    unsafe slot.storeBytes(of: work, toByteOffset: 8, as: UInt64.self)
    unsafe slot.storeBytes(of: uptime, toByteOffset: 16, as: UInt64.self)
    unsafe slot.storeBytes(of: threadID, toByteOffset: 24, as: Int32.self)
    unsafe slot.storeBytes(of: content.counts, toByteOffset: 28, as: UInt32.self)
    let place = unsafe slot + BreadcrumbRing.textOffset
    unsafe pm_copy_text(place, content.text, content.textCount)
    if content.metadataCount > 0 {
      unsafe pm_copy_text(place + content.textCount, content.metadata, content.metadataCount)
    }
    unsafe pm_atomic_store_64(
      slot.assumingMemoryBound(to: UInt64.self), BreadcrumbRing.whole(number))
  }

  /// Takes the number of a new breadcrumb, and marks the slot for this number as incomplete; returns nil if another
  /// thread is still writing to that slot, or has already stored a later breadcrumb there.
  @_noLocks
  func take() -> UInt64? {
    let number = unsafe pm_atomic_add_64(next, 1)
    let word = unsafe slot(number).assumingMemoryBound(to: UInt64.self)
    let writing = BreadcrumbRing.whole(number) &- 1
    let old = unsafe pm_atomic_load_64(word)
    guard old & 1 == 0, old < writing,
      unsafe pm_atomic_compare_exchange_64(word, old, writing) == old
    else { return nil }
    return number
  }
}
