internal import CSignalSafe

/// The last breadcrumbs that the program, or one unit of work, has left.
///
/// Breadcrumbs are numbered in the order in which they are left. The number of slots is a power of two, so the low bits
/// of the breadcrumb's number are the index of its slot. The first word of a slot contains the number of the slot's
/// breadcrumb. The word is odd while the slot is being written, and even afterward, so that readers recognize an
/// incomplete slot. If a slower thread is still writing the slot's previous breadcrumb, the new breadcrumb is dropped.
///
/// The program's ring is in `ClientMemory`. RUNS-DURING-CRASH; filled by the program. See
/// Docs/Decisions/17-what-the-program-tells.md.
@safe
struct BreadcrumbRing {
  /// The number of breadcrumbs that the process's ring holds.
  static var processCount: Int { @_noLocks get { 128 } }
  /// The size of a slot in bytes.
  ///
  /// The fields begin at these offsets: the word with the breadcrumb's number at 0, the unit of work at 8, the time
  /// from CLOCK_BOOTTIME at 16, the thread at 24, the size of the text at 28, the size of the metadata at 29, the
  /// level at 31 (0 for none), and the text at 32. The metadata follows the text.
  static var stride: Int { @_noLocks get { 256 } }
  static var levelOffset: Int { @_noLocks get { 31 } }
  static var textOffset: Int { @_noLocks get { 32 } }
  static var textCapacity: Int { @_noLocks get { 224 } }
  static var byteCount: Int { @_noLocks get { 128 &* 256 } }

  let count: Int
  private let base: UnsafeMutableRawPointer
  let next: UnsafeMutablePointer<UInt64>

  @_noLocks
  init(_ base: UnsafeMutableRawPointer, count: Int, next: UnsafeMutablePointer<UInt64>) {
    self.count = count
    unsafe self.base = base
    unsafe self.next = next
  }

  /// The number of breadcrumbs that were ever left in this ring, including those that newer ones have replaced.
  var leftCount: UInt64 { @_noLocks get { unsafe pm_atomic_load_64(next) } }

  @_noLocks
  func slot(_ number: UInt64) -> UnsafeMutableRawPointer {
    let index = Int(truncatingIfNeeded: number) & (count &- 1)
    return unsafe base + index &* BreadcrumbRing.stride
  }

  /// The value of a slot's first word if the slot holds the complete breadcrumb with this number.
  @_noLocks
  static func whole(_ number: UInt64) -> UInt64 { number &* 2 &+ 2 }

  /// Copies a breadcrumb's whole slot.
  ///
  /// - Parameter place: memory of at least `stride` bytes.
  /// - Returns: the number of bytes of the breadcrumb's text; -1 if the breadcrumb is incomplete or was replaced.
  @_noLocks
  func read(_ number: UInt64, into place: UnsafeMutableRawPointer) -> Int {
    let slot = unsafe slot(number)
    let word = unsafe slot.assumingMemoryBound(to: UInt64.self)
    let whole = BreadcrumbRing.whole(number)
    guard unsafe pm_atomic_load_64(word) == whole else { return -1 }
    unsafe pm_copy_bytes(place, slot, BreadcrumbRing.stride)
    // The word is checked again with a swap, because a swap, unlike a load, is ordered after the copy.
    guard unsafe pm_atomic_compare_exchange_64(word, whole, whole) == whole else { return -1 }
    let counts = unsafe place.loadUnaligned(fromByteOffset: 28, as: UInt32.self)
    let (count, metadataCount) = (counts & 0xFF, counts &>> 8 & 0xFF)
    return count &+ metadataCount <= BreadcrumbRing.textCapacity
      ? Int(truncatingIfNeeded: count) : -1
  }
}

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
