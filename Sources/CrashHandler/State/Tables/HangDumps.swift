internal import CSignalSafe
internal import IntermediateDump

/// The dump files of hangs that have not ended.
///
/// When the dump of a crash is complete, these dumps are removed, because the crash report shows the same process at a
/// later time.
///
/// RUNS-DURING-CRASH; ordinary code fills the list.
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

/// Adds the dump of a hang to the list of hang dumps that a crash removes.
///
/// Crash code only removes the dumps in the list, and never adds one.
extension HangDumps {
  /// Reserves an entry; returns -1 if none is free.
  @_noLocks
  func take() -> Int {
    var index = 0
    while index < HangDumps.capacity {
      if word(index).exchange(expected: 0, desired: 1) == 0 { return index }
      index &+= 1
    }
    return -1
  }

  /// Fills an entry with the names of a finished dump, and takes over the dump's descriptors.
  @_noLocks
  func fill(_ index: Int, _ files: SessionFiles, _ names: DumpNames) {
    unsafe entry(index).pointee.dump = files.dump
    unsafe entry(index).pointee.fifo = files.fifo
    unsafe copyName(names.finished, to: name(index, 0))
    unsafe copyName(names.runRecord, to: name(index, 1))
    unsafe copyName(names.fifo, to: name(index, 2))
    word(index).store(2)
  }

  /// Overwrites a value of 8 bytes in the dump of a hang, if the descriptor still refers to the dump's file.
  @_noLocks
  func overwrite(_ index: Int, _ value: UInt64, at offset: Int64) {
    let dump = unsafe entry(index).pointee.dump
    guard offset > 0, dump.isThere(linked: true) else { return }
    var value = value
    _ = unsafe pm_pwrite(dump.descriptor, &value, 8, offset)
  }

  /// Marks the dump, so that it is removed when the process calls exit or `_exit`.
  @_noLocks
  func expectExit(_ index: Int) { _ = word(index).exchange(expected: 2, desired: 3) }

  private func copyName(
    _ name: UnsafePointer<CChar>, to place: UnsafeMutablePointer<CChar>
  ) {
    // The name fits into the 256 bytes at `place`, because an identifier has at most 128 bytes, a report ID 36 and a
    // suffix 7.
    var index = 0
    while index < 255, unsafe name[index] != 0 {
      unsafe place[index] = name[index]
      index &+= 1
    }
    unsafe place[index] = 0
  }
}
