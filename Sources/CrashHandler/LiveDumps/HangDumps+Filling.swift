internal import CSignalSafe

/// Adds the dump of a hang to the list of hang dumps that a crash removes.
///
/// Not crash code: crash code only removes the dumps in the list, and never adds one.
extension HangDumps {
  /// Reserves an entry; returns -1 if none is free.
  func take() -> Int {
    var index = 0
    while index < HangDumps.capacity {
      if word(index).exchange(expected: 0, desired: 1) == 0 { return index }
      index &+= 1
    }
    return -1
  }

  /// Fills an entry with the names of a finished dump, and takes over the dump's descriptors.
  func fill(_ index: Int, _ files: SessionFiles, _ names: DumpNames) {
    unsafe entry(index).pointee.dump = files.dump
    unsafe entry(index).pointee.fifo = files.fifo
    unsafe copyName(names.finished, to: name(index, 0))
    unsafe copyName(names.runRecord, to: name(index, 1))
    unsafe copyName(names.fifo, to: name(index, 2))
    word(index).store(2)
  }

  /// Overwrites a value of 8 bytes in the dump of a hang, if the descriptor still refers to the dump's file.
  func overwrite(_ index: Int, _ value: UInt64, at offset: Int64) {
    let dump = unsafe entry(index).pointee.dump
    guard offset > 0, dump.isThere(linked: true) else { return }
    var value = value
    _ = unsafe pm_pwrite(dump.descriptor, &value, 8, offset)
  }

  /// Marks the dump, so that it is removed when the process calls exit or `_exit`.
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
