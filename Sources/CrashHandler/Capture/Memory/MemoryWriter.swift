internal import CSignalSafe
internal import IntermediateDump

/// Writes memory of the process, and NUL-terminated text in it.
///
/// RUNS-DURING-CRASH.
@safe
struct MemoryWriter {
  /// Bytes of one region at most; a longer stack is several.
  static var regionSize: Int { @_noLocks get { 65536 } }

  let memory: SafeMemory
  private let output: DumpOutput
  /// Replaces words of regions; nil for none.
  private let sanitizer: WordSanitizer?

  @_noLocks
  init(memory: SafeMemory, output: DumpOutput, sanitizer: WordSanitizer? = nil) {
    self.memory = memory
    self.output = output
    self.sanitizer = sanitizer
  }

  // MARK: - Regions

  /// Writes a range of any length; returns the bytes that could be read.
  @_noLocks @discardableResult
  func write(_ address: UInt64, count: Int) -> Int {
    var done = 0
    var written = 0
    while done < count {
      let rest = count &- done
      let piece = rest < MemoryWriter.regionSize ? rest : MemoryWriter.regionSize
      written &+= writeRegion(address &+ UInt64(truncatingIfNeeded: done), count: piece)
      done &+= piece
    }
    return written
  }

  /// Writes one region: its address, the bytes asked for, and as many of them as can be read.
  ///
  /// A window that begins below a mapping is tried once more from the next page on.
  ///
  /// - Returns: the bytes that could be read.
  @inline(never) @_noLocks @discardableResult
  func writeRegion(_ address: UInt64, count: Int) -> Int {
    let allowed = memory.allowed(address, count: count)
    guard allowed > 0 else { return 0 }
    let written = writeReadable(address, count: allowed)
    let toNextPage = 4096 &- Int(truncatingIfNeeded: address & 4095)
    guard written == 0, toNextPage < allowed else { return written }
    return writeReadable(
      address &+ UInt64(truncatingIfNeeded: toNextPage), count: allowed &- toNextPage)
  }

  /// Writes one region; returns the bytes that could be read: 0 leaves a region without data.
  @inline(never) @_noLocks
  func writeReadable(_ address: UInt64, count: Int) -> Int {
    output.startMap(.memoryRegion)
    output.unsigned(.regionAddress, address)
    output.unsigned(.regionSize, UInt64(truncatingIfNeeded: count))
    let copied = output.property(.regionData, of: memory, at: address, count: count, sanitizer)
    output.end()
    return copied
  }

  /// Writes one region whose bytes were read already.
  @inline(never) @_noLocks
  func write(_ address: UInt64, _ bytes: Bytes) {
    output.startMap(.memoryRegion)
    output.unsigned(.regionAddress, address)
    output.unsigned(.regionSize, UInt64(truncatingIfNeeded: bytes.count))
    if let sanitizer {
      if let place = unsafe output.beginProperty(.regionData, capacity: bytes.count) {
        unsafe pm_copy_bytes(place, bytes.address, bytes.count)
        unsafe sanitizer.sanitize(place, copyOf: address, count: bytes.count)
        output.finishProperty(count: bytes.count)
      }
    } else {
      output.property(.regionData, bytes)
    }
    output.end()
  }

  // MARK: - Text

  /// Writes the text at an address, as far as it can be read; nothing if it is empty or unreadable.
  ///
  /// - Parameters:
  ///   - key: the property's key.
  ///   - address: of the first byte.
  ///   - limit: the most bytes to write.
  @_noLocks
  func writeText(_ key: IntermediateDumpKey, at address: UInt64, limit: Int) {
    guard address != 0, let place = unsafe output.beginProperty(key, capacity: limit) else {
      return
    }
    let count = unsafe memory.copyText(address, to: place, limit: limit)
    if count > 0 { output.finishProperty(count: count) }
  }

  /// Writes the text that a pointer leads to, behind some bytes.
  @_noLocks
  func writeText(
    _ key: IntermediateDumpKey, atPointer pointer: UInt64, skipping: UInt64, limit: Int
  ) {
    guard pointer != 0, let place = unsafe output.beginProperty(key, capacity: limit) else {
      return
    }
    let count = unsafe memory.copyText(
      atPointer: pointer, skipping: skipping, to: place, limit: limit)
    if count > 0 { output.finishProperty(count: count) }
  }
}

extension SafeMemory {
  /// Copies the text that a pointer leads to, behind some bytes.
  ///
  /// Another thread that aborts too puts its own text there and unmaps the one before, which this
  /// one was about to read, and whose addresses others may have by then: reads again until the
  /// pointer was the same before and after. Source: glibc sysdeps/posix/libc_fatal.c.
  @_noLocks
  func copyText(
    atPointer pointer: UInt64, skipping: UInt64, to place: UnsafeMutableRawPointer, limit: Int
  ) -> Int {
    let memory = uncached
    // More than threads abort within the microseconds of a reading.
    var attempts = 64
    guard pointer != 0, var buffer = memory.word(pointer) else { return 0 }
    while buffer != 0 {
      let count = unsafe memory.copyText(buffer &+ skipping, to: place, limit: limit)
      attempts &-= 1
      let next = memory.word(pointer) ?? 0
      // The next text may lie at the same address: nothing read is no reason to stop.
      if attempts == 0 || count > 0 && next == buffer { return count }
      buffer = next
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
