internal import CSignalSafe
internal import IntermediateDump

/// Writes parts of the process's memory to the dump, either as memory regions or as NUL-terminated text.
///
/// RUNS-DURING-CRASH.
@safe
struct MemoryWriter {
  /// The maximum number of bytes of one region; a longer range is written as several regions.
  static var regionSize: Int { @_noLocks get { 65536 } }

  fileprivate let capture: Capture
  let memory: SafeMemory
  /// Replaces words that may be secrets; nil to replace none.
  fileprivate let sanitizer: WordSanitizer?

  // MARK: - Regions

  /// Writes a range of memory, of any length, to the dump; returns the number of bytes that could be read.
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

  /// Writes one region: its address, its size, and the bytes that can be read.
  ///
  /// The size is the requested size, unless the range reaches the environment, which is never read. If no byte can be
  /// read, for example because the region begins below a mapping, a second region, which starts at the next page, is
  /// written too.
  ///
  /// - Returns: the number of bytes that could be read.
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

  /// Writes one region; returns the number of bytes that could be read.
  ///
  /// If no byte could be read, the region has an address and a size, but no data.
  @inline(never) @_noLocks
  func writeReadable(_ address: UInt64, count: Int) -> Int {
    capture.writer.startMap(.memoryRegion)
    capture.writer.unsigned(.regionAddress, address)
    capture.writer.unsigned(.regionSize, UInt64(truncatingIfNeeded: count))
    let copied = capture.write(.regionData, of: memory, at: address, count: count, sanitizer)
    capture.writer.end()
    return copied
  }

  /// Writes one region from bytes that were already read.
  @inline(never) @_noLocks
  func write(_ address: UInt64, _ bytes: Bytes) {
    capture.writer.startMap(.memoryRegion)
    capture.writer.unsigned(.regionAddress, address)
    capture.writer.unsigned(.regionSize, UInt64(truncatingIfNeeded: bytes.count))
    if let place = unsafe capture.writer.beginProperty(.regionData, capacity: bytes.count) {
      unsafe pm_copy_bytes(place, bytes.address, bytes.count)
      if let sanitizer { unsafe sanitizer.sanitize(place, copyOf: address, count: bytes.count) }
      capture.writer.finishProperty(count: bytes.count)
    }
    capture.writer.end()
  }

  // MARK: - Text

  /// Writes the readable part of the NUL-terminated text at an address; writes nothing if it is empty or unreadable.
  ///
  /// - Parameters:
  ///   - key: the property's key.
  ///   - address: the address of the first byte.
  ///   - limit: the maximum number of bytes to write.
  @_noLocks
  func writeText(_ key: IntermediateDumpKey, at address: UInt64, limit: Int) {
    guard address != 0, let place = unsafe capture.writer.beginProperty(key, capacity: limit) else {
      return
    }
    let count = unsafe memory.copyText(address, to: place, limit: limit)
    if count > 0 { capture.writer.finishProperty(count: count) }
  }
}

extension Capture {
  var regions: MemoryWriter {
    @_noLocks get { MemoryWriter(capture: self, memory: memory, sanitizer: sanitizer) }
  }

  /// A writer that reads memory through `PageCache`, for small regions that are close together.
  var cachedRegions: MemoryWriter {
    @_noLocks get { MemoryWriter(capture: self, memory: cachedMemory, sanitizer: sanitizer) }
  }

  /// A writer for memory that contains no secrets.
  var plainRegions: MemoryWriter {
    @_noLocks get { MemoryWriter(capture: self, memory: cachedMemory, sanitizer: nil) }
  }

  /// Writes the readable part of the memory at an address; writes nothing if none of the memory is readable.
  ///
  /// - Parameter sanitizer: replaces words that may be secrets; nil to replace none.
  /// - Returns: the number of bytes written.
  @_noLocks @discardableResult
  func write(
    _ key: IntermediateDumpKey, of memory: SafeMemory, at address: UInt64, count: Int,
    _ sanitizer: WordSanitizer? = nil
  ) -> Int {
    guard let place = unsafe writer.beginProperty(key, capacity: count) else { return 0 }
    let copied = unsafe memory.copy(address, to: place, count: count)
    if let sanitizer { unsafe sanitizer.sanitize(place, copyOf: address, count: copied) }
    if copied > 0 { writer.finishProperty(count: copied) }
    return copied
  }
}
