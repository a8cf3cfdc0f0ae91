internal import CSignalSafe
internal import IntermediateDump

/// What the process used of what it may use: limits, descriptors, mappings, its control group, and
/// the machine's load.
///
/// RUNS-DURING-CRASH.
@c(pm_write_resources) @_noLocks
func pm_write_resources(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  let resources = unsafe ResourceWriter(state)
  unsafe state.pointee.writer.startMap(.process)
  resources.writeText(.limitsText, "self/limits", capacity: 8192)
  resources.writeDescriptorCount()
  unsafe state.pointee.writer.unsigned(
    .mappingCount, UInt64(truncatingIfNeeded: state.pointee.mappings.count), width: 4)
  unsafe resources.writeNumber(.memoryUsed, state.pointee.controlGroup.memoryUsed)
  unsafe resources.writeNumber(.memoryLimit, state.pointee.controlGroup.memoryLimit)
  unsafe resources.writeNumber(.tasksUsed, state.pointee.controlGroup.tasksUsed)
  unsafe resources.writeNumber(.tasksLimit, state.pointee.controlGroup.tasksLimit)
  unsafe state.pointee.writer.end()
  unsafe state.pointee.writer.startMap(.system)
  resources.writeText(.loadAverage, "loadavg", capacity: 256)
  unsafe state.pointee.writer.end()
}

/// Reads the kernel's text files and writes them.
///
/// RUNS-DURING-CRASH.
@safe
private struct ResourceWriter {
  private let state: UnsafeMutablePointer<HandlerState>
  private let procFile: ProcFile

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
    procFile = unsafe ProcFile(proc: state.pointee.procDescriptor)
  }

  /// A small file of /proc, its last line's end taken away.
  @_noLocks
  func writeText(_ key: IntermediateDumpKey, _ name: StaticString, capacity: Int) {
    guard let place = unsafe state.pointee.writer.beginProperty(key, capacity: capacity) else {
      return
    }
    let path = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    var count = unsafe procFile.read(path, into: place, capacity: capacity)
    if count > 0,
      unsafe place.loadUnaligned(fromByteOffset: count &- 1, as: UInt8.self) == 0x0A
    {
      count &-= 1
    }
    if count > 0 { unsafe state.pointee.writer.finishProperty(count: count) }
  }

  /// Open descriptors, by the names in /proc/self/fd.
  @_noLocks
  func writeDescriptorCount() {
    let name: StaticString = "self/fd"
    let path = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    let directory = unsafe procFile.open(path, directory: true)
    guard directory >= 0 else { return }
    var entries = unsafe DirectoryEntries(
      directory, place: state.pointee.scratch, capacity: state.pointee.scratchSize)
    var count: UInt64 = 0
    while count < 65536, let name = entries.next() {
      // Not "." and "..".
      if name.current != 0x2E { count &+= 1 }
    }
    _ = pm_close(directory)
    unsafe state.pointee.writer.unsigned(.descriptorCount, count, width: 4)
  }

  /// A number in a file of the control group, held open since install; nothing for "max".
  @_noLocks
  func writeNumber(_ key: IntermediateDumpKey, _ file: ControlGroupFile) {
    guard
      unsafe state.pointee.makes(CallBit.controlGroup)
        && state.pointee.isSame(file.identity, file.descriptor)
    else { return }
    let place = unsafe state.pointee.scratch
    let count = unsafe pm_pread(file.descriptor, place, 64, 0)
    guard count > 0 else { return }
    var scanner = unsafe TextScanner(place, count: count)
    guard scanner.current >= 0x30, scanner.current <= 0x39 else { return }
    let value = scanner.decimal()
    // Version 1 says "no limit" with the largest multiple of a page.
    if value < 1 &<< 62 { unsafe state.pointee.writer.unsigned(key, value) }
  }
}

/// The files of the process's control group.
///
/// Held open since install: their paths may be out of reach in a crash, and a forked child has the
/// same.
struct ControlGroupFiles {
  let memoryUsed: ControlGroupFile
  let memoryLimit: ControlGroupFile
  let tasksUsed: ControlGroupFile
  let tasksLimit: ControlGroupFile
}

/// One of them, open for reading, with what it was: the program may have closed it.
struct ControlGroupFile {
  /// -1 if there is none.
  let descriptor: Int32
  let identity: FileIdentity
}
