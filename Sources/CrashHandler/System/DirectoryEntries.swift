internal import CSignalSafe

/// Lists the names in a directory of /proc.
///
/// RUNS-DURING-CRASH. Source: getdents64(2).
@safe
struct DirectoryEntries {
  private let descriptor: Int32
  private let scratch: Scratch
  private var filled = 0
  private var offset = 0

  /// True if the list ended with an error, so that there may be more names.
  var isBroken: Bool { @_noLocks get { filled < 0 } }

  /// Creates a list of the names in an open directory.
  @_noLocks
  init(_ descriptor: Int32, in scratch: Scratch) {
    self.descriptor = descriptor
    self.scratch = scratch
  }

  /// Returns the next name, which may be "." or ".."; nil at the end, or after an error (`isBroken`).
  @_noLocks
  mutating func next() -> TextScanner? {
    // struct linux_dirent64 has d_ino (8 bytes), d_off (8), d_reclen (2), d_type (1) and, from byte 19 on, d_name.
    if offset &+ 19 >= filled {
      for _ in Indices(3) {
        filled = unsafe pm_getdents64(descriptor, scratch.address, scratch.size)
        if filled >= 0 { break }
      }
      offset = 0
      guard filled > 19 else { return nil }
    }
    let length = Int(
      unsafe scratch.address.loadUnaligned(fromByteOffset: offset &+ 16, as: UInt16.self))
    guard length > 19, offset &+ length <= filled else { return nil }
    defer { offset &+= length }
    return scratch.bytes(offset &+ 19, count: length &- 19).text
  }
}
