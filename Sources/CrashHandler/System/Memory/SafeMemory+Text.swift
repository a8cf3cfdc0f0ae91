extension SafeMemory {
  /// Copies up to `count` bytes into scratch memory; returns the number of bytes that could be read.
  @_noLocks
  func copy(_ address: UInt64, to scratch: Scratch, count: Int) -> Int {
    unsafe copy(address, to: scratch.address, count: count < scratch.size ? count : scratch.size)
  }
}

extension SafeMemory {
  /// Reads a pointer from memory, and copies the text to which it points, without the first `skipping` bytes.
  ///
  /// Another thread that aborts may replace the text, and may unmap the old text while this thread reads it; the old
  /// addresses may then be reused. So the text is read again until the pointer is the same before and after the read.
  /// Source: glibc sysdeps/posix/libc_fatal.c.
  @_noLocks
  func copyText(
    atPointer pointer: UInt64, skipping: UInt64, to place: UnsafeMutableRawPointer, limit: Int
  ) -> Int {
    // This limit is enough if fewer than 64 threads abort while the text is read.
    var attempts = 64
    var memory = self
    memory.pages = nil
    guard pointer != 0, var buffer = memory.word(pointer) else { return 0 }
    while buffer != 0 {
      let count = unsafe memory.copyText(buffer &+ skipping, to: place, limit: limit)
      attempts &-= 1
      let next = memory.word(pointer) ?? 0
      // After an empty read, the loop continues even if the pointer is the same: a new text may have been mapped at the
      // same address.
      if attempts == 0 || count > 0 && next == buffer { return count }
      buffer = next
    }
    return 0
  }

  /// Copies the readable part of NUL-terminated text.
  ///
  /// - Parameter limit: the number of bytes that fit at `place`.
  /// - Returns: the number of bytes of the text, without the NUL.
  @_noLocks
  func copyText(_ address: UInt64, to place: UnsafeMutableRawPointer, limit: Int) -> Int {
    var filled = 0
    var isTerminated = address == 0
    while filled < limit, !isTerminated {
      // Reads to the end of the page, because the next page may not be readable.
      let start = address &+ UInt64(truncatingIfNeeded: filled)
      let toPageEnd = 4096 &- Int(truncatingIfNeeded: start & 4095)
      let piece = toPageEnd < limit &- filled ? toPageEnd : limit &- filled
      let copied = unsafe copy(start, to: place + filled, count: piece, isBegun: true)
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
