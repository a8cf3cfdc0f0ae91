internal import CSignalSafe

/// The unwind tables of an image in memory: `.eh_frame_hdr` and `.eh_frame`.
///
/// Neither the program headers nor the segments tell where `.eh_frame` ends: constants, code and whatever a tool has
/// put into the image may be next to it. So the entries of both tables are checked one by one, and everything from the
/// first one on that is not an entry is not part of a table.
///
/// RUNS-DURING-CRASH. Source: Linux Standard Base Core, 10.6 (Exception Frames).
@safe
struct UnwindTables {
  /// The maximum length of an entry of `.eh_frame`; a reader treats a longer entry as damaged.
  private static var maximumLength: UInt64 { 1 << 18 }

  private let image: ModuleImage
  private let memory: SafeMemory
  /// The table `.eh_frame_hdr`.
  let header: AddressRange
  private let frames: UInt64

  /// Finds the tables through the image's program headers; nil if there are none, or if `.eh_frame_hdr` has not the
  /// encodings that linkers use.
  @_noLocks
  init?(of image: ModuleImage, in memory: SafeMemory) {
    // Version 1; then the encodings of the pointer to `.eh_frame` (pcrel|sdata4), of the number of entries (udata4)
    // and of the entries (datarel|sdata4).
    var segments = image.segments(PT_GNU_EH_FRAME)
    guard let segment = segments.next(), let first = memory.word(segment.address),
      first & 0xFFFF_FFFF == 0x3B03_1B01,
      let number = memory.instruction(at: segment.address &+ 8, size: 4)
    else { return nil }
    let count = 12 &+ UInt64(truncatingIfNeeded: number) &* 8
    guard number > 0, count <= segment.fileSize else { return nil }
    header = AddressRange(start: segment.address, count: Int(truncatingIfNeeded: count))
    frames = segment.address &+ 4 &+ UnwindTables.distance(first &>> 32)
    (self.image, self.memory) = (image, memory)
    guard hasFunctions(number: Int(truncatingIfNeeded: number)) else { return nil }
  }

  /// True if the entries of `.eh_frame_hdr` are in the order of their functions, which all are in the image's code.
  private func hasFunctions(number: Int) -> Bool {
    var last: UInt64 = 0
    var (code, size): (UInt64, UInt64) = (0, 0)
    for index in Indices(number) {
      let place = header.start &+ 12 &+ UInt64(truncatingIfNeeded: index) &* 8
      guard let entry = memory.word(place) else { return false }
      let start = header.start &+ UnwindTables.distance(entry)
      if start &- code >= size {
        guard let segment = image.loaded(around: start), segment.isCode else { return false }
        (code, size) = (segment.address, segment.end &- segment.address)
      }
      guard start >= last else { return false }
      last = start
    }
    return true
  }

  /// Returns the entries of `.eh_frame` up to its terminator or the first bytes that are not an entry.
  ///
  /// - Parameter limit: the maximum number of bytes.
  @_noLocks
  func entries(limit: Int) -> AddressRange {
    var place = frames
    guard let segment = image.loaded(around: frames) else {
      return AddressRange(start: frames, count: 0)
    }
    let loaded = segment.address &+ segment.fileSize &- frames
    let size =
      loaded < UInt64(truncatingIfNeeded: limit) ? loaded : UInt64(truncatingIfNeeded: limit)
    // Most entries have the same CIE as the entry before them.
    var known: UInt64 = 0
    while place &- frames &+ 16 <= size, let word = memory.word(place) {
      // An entry is its length, the distance back to its CIE (0 for a CIE), and its contents.
      let (length, back) = (word & 0xFFFF_FFFF, word &>> 32)
      let cie = back == 0 ? place : place &+ 4 &- back
      guard length >= 12, length <= UnwindTables.maximumLength,
        place &- frames &+ 4 &+ length <= size,
        cie == known || cie >= frames && cie <= place && isCIE(cie)
      else { break }
      known = cie
      place = place &+ 4 &+ length
    }
    return AddressRange(start: frames, count: Int(truncatingIfNeeded: place &- frames))
  }

  /// True if a common information entry with the augmentation of compilers (`z` and some of `RPLSBG`) is at an address.
  private func isCIE(_ address: UInt64) -> Bool {
    guard let start = memory.word(address), start &>> 32 == 0,
      let word = memory.word(address &+ 8), word & 0xFF == 1 || word & 0xFF == 3,
      word &>> 8 & 0xFF == 0x7A
    else { return false }
    var rest = word &>> 16
    while true {
      switch rest & 0xFF {
      case 0: return true
      case 0x42, 0x47, 0x4C, 0x50, 0x52, 0x53: rest = rest &>> 8
      default: return false
      }
    }
  }

  /// The signed distance in the lower 32 bits of a word.
  private static func distance(_ word: UInt64) -> UInt64 {
    UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: word)))
  }
}
