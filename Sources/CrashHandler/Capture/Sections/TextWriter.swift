internal import CSignalSafe
internal import IntermediateDump

/// Writes NUL-terminated text of the process's memory as a property.
///
/// RUNS-DURING-CRASH.
@safe
struct TextWriter {
  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// Writes the text at an address, as far as it can be read; nothing if it is empty or unreadable.
  ///
  /// - Parameters:
  ///   - key: the property's key.
  ///   - address: of the first byte.
  ///   - limit: the most bytes to write.
  @_noLocks
  func write(_ key: IntermediateDumpKey, at address: UInt64, limit: Int) {
    guard address != 0,
      let place = unsafe capture.session.writer.beginProperty(key, capacity: limit)
    else { return }
    let count = unsafe capture.memory.copyText(address, to: place, limit: limit)
    if count > 0 { capture.session.writer.finishProperty(count: count) }
  }

  /// The same for the text that a pointer leads to, behind some bytes.
  @_noLocks
  func write(_ key: IntermediateDumpKey, atPointer pointer: UInt64, skipping: UInt64, limit: Int) {
    guard pointer != 0,
      let place = unsafe capture.session.writer.beginProperty(key, capacity: limit)
    else { return }
    let count = unsafe capture.memory.copyText(
      atPointer: pointer, skipping: skipping, to: place, limit: limit)
    if count > 0 { capture.session.writer.finishProperty(count: count) }
  }
}

extension SafeMemory {
  /// Copies the text that a pointer leads to, behind some bytes.
  ///
  /// Another thread that aborts too puts its own text there and unmaps the one before, which this
  /// one was about to read: then once more. Source: glibc sysdeps/posix/libc_fatal.c.
  @_noLocks
  func copyText(
    atPointer pointer: UInt64, skipping: UInt64, to place: UnsafeMutableRawPointer, limit: Int
  ) -> Int {
    var attempts = 0
    while attempts < 8 {
      guard pointer != 0, let buffer = word(pointer), buffer != 0 else { return 0 }
      let count = unsafe copyText(buffer &+ skipping, to: place, limit: limit)
      // The next text may lie at the same address: that is no reason to stop.
      if count > 0 { return count }
      attempts &+= 1
    }
    return 0
  }

  /// Copies NUL-terminated text, as far as it can be read.
  ///
  /// - Parameter limit: bytes of room at `place`.
  /// - Returns: bytes of the text, without the NUL.
  @_noLocks
  func copyText(_ address: UInt64, to place: UnsafeMutableRawPointer, limit: Int) -> Int {
    var filled = 0
    var isTerminated = address == 0
    while filled < limit, !isTerminated {
      // To the end of the page: what lies behind it may not be readable.
      let start = address &+ UInt64(truncatingIfNeeded: filled)
      let toPageEnd = 4096 &- Int(truncatingIfNeeded: start & 4095)
      let piece = toPageEnd < limit &- filled ? toPageEnd : limit &- filled
      let copied = unsafe copy(start, to: place + filled, count: piece)
      var index = 0
      while index < copied {
        let byte = unsafe place.loadUnaligned(fromByteOffset: filled &+ index, as: UInt8.self)
        if byte == 0 {
          isTerminated = true
          break
        }
        index &+= 1
      }
      filled &+= index
      if copied < piece { break }
    }
    return filled
  }
}
