internal import CSignalSafe
internal import IntermediateDump

/// The dump files of hangs that have not ended.
///
/// When the dump of a crash is complete, these dumps are removed, because the crash report shows the same process at a
/// later time.
///
/// RUNS-DURING-CRASH; ordinary code fills the list (`HangDumps+Filling`).
@safe
struct HangDumps {
  static var capacity: Int { @_noLocks get { 8 } }
  /// The header of an entry; the names of the dump, the run record and the FIFO follow the header.
  struct Entry {
    /// The state of the entry: 0 if free, 1 while it is being filled, 2 if valid, 3 if valid and to be removed when the
    /// process exits.
    let state: UInt32
    var dump: HeldFile
    var fifo: HeldFile
  }

  private static var namesOffset: Int { 64 }
  /// The number of bytes of an entry.
  static var stride: Int { @_noLocks get { 64 &+ 3 &* 256 } }
  static var byteCount: Int { @_noLocks get { 8 &* (64 &+ 3 &* 256) } }

  let base: UnsafeMutableRawPointer

  /// Closes the descriptors of a hang's dump and of its FIFO, and frees the entry.
  @_noLocks
  func close(_ index: Int) {
    let entry = unsafe entry(index).pointee
    if entry.dump.isThere() { _ = pm_close(entry.dump.descriptor) }
    if entry.fifo.isThere() { _ = pm_close(entry.fifo.descriptor) }
    word(index).store(0)
  }

  /// Empties and removes the dump, like `Capture.discardDump`, then removes its run record and FIFO.
  @_noLocks
  func removeFiles(_ index: Int, directory: Int32) {
    let dump = unsafe entry(index).pointee.dump
    if dump.isThere() { _ = pm_truncate(dump.descriptor, 0) }
    for kind in Indices(3) {
      _ = unsafe pm_unlink(directory, name(index, kind))
    }
  }

  @_noLocks
  func isValid(_ index: Int) -> Bool { word(index).value >= 2 }

  /// Removes the dump, the run record and the FIFO of each hang in the list.
  @_noLocks
  func removeAllFiles(in directory: Int32) {
    for index in Indices(HangDumps.capacity) where isValid(index) {
      removeFiles(index, directory: directory)
    }
  }

  @_noLocks
  func expectsExit(_ index: Int) -> Bool { word(index).value == 3 }

  /// The name of the dump (0), its run record (1) or its FIFO (2), NUL-terminated.
  @_noLocks
  func name(_ index: Int, _ kind: Int) -> UnsafeMutablePointer<CChar> {
    unsafe (base + (index &* HangDumps.stride &+ HangDumps.namesOffset &+ kind &* 256))
      .assumingMemoryBound(to: CChar.self)
  }

  @_noLocks
  func entry(_ index: Int) -> UnsafeMutablePointer<Entry> {
    unsafe (base + index &* HangDumps.stride).assumingMemoryBound(to: Entry.self)
  }

  @_noLocks
  func word(_ index: Int) -> FutexWord {
    unsafe FutexWord((base + index &* HangDumps.stride).assumingMemoryBound(to: UInt32.self))
  }
}
