internal import CSignalSafe
internal import IntermediateDump

/// The dumps of hangs that last, by their files, so that a crash can remove them: its own report
/// shows the same process, and later.
///
/// RUNS-DURING-CRASH; filled in ordinary code.
@safe
struct HangDumps {
  static var capacity: Int { @_noLocks get { 8 } }
  /// Bytes of an entry: word 0 (0 free, 1 being filled, 2 valid, 3 valid until exit), descriptors of dump and FIFO 4
  /// and 8, their identities from 16, names from 64: dump, run record, FIFO.
  static var stride: Int { @_noLocks get { 64 &+ 3 &* 256 } }
  static var byteCount: Int { @_noLocks get { 8 &* (64 &+ 3 &* 256) } }

  private let base: UnsafeMutableRawPointer

  @_noLocks
  init(base: UnsafeMutableRawPointer) {
    unsafe self.base = base
  }

  /// Takes an entry, to be filled; -1 if there is none.
  @_noLocks
  func take() -> Int {
    var index = 0
    while index < HangDumps.capacity {
      if word(index).exchange(expected: 0, desired: 1) == 0 { return index }
      index &+= 1
    }
    return -1
  }

  /// Fills an entry from the state of a finished dump, whose descriptors are the entry's now.
  @_noLocks
  func fill(_ index: Int, from dump: Capture) {
    let entry = unsafe entry(index)
    unsafe entry.storeBytes(of: dump.session.files.dump.descriptor, toByteOffset: 4, as: Int32.self)
    unsafe entry.storeBytes(of: dump.session.files.fifo.descriptor, toByteOffset: 8, as: Int32.self)
    unsafe entry.storeBytes(
      of: dump.session.files.dump.identity, toByteOffset: 16, as: FileIdentity.self)
    unsafe entry.storeBytes(
      of: dump.session.files.fifo.identity, toByteOffset: 32, as: FileIdentity.self)
    unsafe copyName(dump.session.names.finished, to: name(index, 0))
    unsafe copyName(dump.session.names.runRecord, to: name(index, 1))
    unsafe copyName(dump.session.names.fifo, to: name(index, 2))
    word(index).store(2)
  }

  /// Writes a value of 8 bytes over that of the dump, if the file is still ours.
  @_noLocks
  func overwrite(_ index: Int, _ value: UInt64, at offset: Int64) {
    let descriptor = descriptor(index, 4)
    guard offset > 0, identity(index, 16).isOf(descriptor, linked: true) else { return }
    var value = value
    _ = unsafe pm_pwrite(descriptor, &value, 8, offset)
  }

  /// Closes the dump and its FIFO, and gives the entry back.
  @_noLocks
  func close(_ index: Int) {
    let (file, fifo) = (descriptor(index, 4), descriptor(index, 8))
    if identity(index, 16).isOf(file, linked: false) { _ = pm_close(file) }
    if identity(index, 32).isOf(fifo, linked: false) { _ = pm_close(fifo) }
    word(index).store(0)
  }

  /// Removes the dump, then what lies beside it.
  @_noLocks
  func removeFiles(_ index: Int, folder: Int32) {
    var kind = 0
    while kind < 3 {
      _ = unsafe pm_unlink(folder, name(index, kind))
      kind &+= 1
    }
  }

  @_noLocks
  func isValid(_ index: Int) -> Bool { word(index).value >= 2 }

  /// Makes the end of the process by its own will remove the dump.
  @_noLocks
  func expectExit(_ index: Int) { _ = word(index).exchange(expected: 2, desired: 3) }

  @_noLocks
  func expectsExit(_ index: Int) -> Bool { word(index).value == 3 }

  /// The name of the dump (0), its run record (1) or its FIFO (2), NUL-terminated.
  @_noLocks
  func name(_ index: Int, _ kind: Int) -> UnsafeMutablePointer<CChar> {
    unsafe (entry(index) + (64 &+ kind &* 256)).assumingMemoryBound(to: CChar.self)
  }

  @_noLocks
  private func copyName(
    _ name: UnsafePointer<CChar>, to place: UnsafeMutablePointer<CChar>
  ) {
    // An identifier has at most 128 bytes, a report ID 36, a suffix 7.
    var index = 0
    while index < 255, unsafe name[index] != 0 {
      unsafe place[index] = name[index]
      index &+= 1
    }
    unsafe place[index] = 0
  }

  @_noLocks
  private func entry(_ index: Int) -> UnsafeMutableRawPointer {
    unsafe base + index &* HangDumps.stride
  }

  @_noLocks
  private func word(_ index: Int) -> FutexWord {
    unsafe FutexWord(entry(index).assumingMemoryBound(to: UInt32.self))
  }

  @_noLocks
  private func descriptor(_ index: Int, _ offset: Int) -> Int32 {
    unsafe entry(index).loadUnaligned(fromByteOffset: offset, as: Int32.self)
  }

  @_noLocks
  private func identity(_ index: Int, _ offset: Int) -> FileIdentity {
    unsafe entry(index).loadUnaligned(fromByteOffset: offset, as: FileIdentity.self)
  }
}

/// Removes the dumps of hangs that a finished crash dump has overtaken.
///
/// RUNS-DURING-CRASH. A section of its own: the dump is finished by now, whatever happens here.
@c(pm_remove_hang_dumps) @_noLocks
func pm_remove_hang_dumps(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let dumps = capture.shared.hangDumps
  var index = 0
  while index < HangDumps.capacity {
    if dumps.isValid(index) {
      dumps.removeFiles(index, folder: capture.session.files.folder.descriptor)
    }
    index &+= 1
  }
}
