internal import CSignalSafe
internal import IntermediateDump

/// What the process used of what it may use: limits, descriptors, mappings, its control group, and
/// the machine's load.
///
/// RUNS-DURING-CRASH.
@c(pm_write_resources) @_noLocks
func pm_write_resources(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let resources = ResourceWriter(capture)
  capture.session.writer.startMap(.process)
  resources.writeText(.limitsText, "self/limits", capacity: 8192)
  resources.writeDescriptorCount()
  capture.session.writer.unsigned(
    .mappingCount, UInt64(truncatingIfNeeded: capture.session.mappings.count), width: 4)
  resources.writeNumber(.memoryUsed, capture.installed.cgroup.memoryUsed)
  resources.writeNumber(.memoryLimit, capture.installed.cgroup.memoryLimit)
  resources.writeNumber(.tasksUsed, capture.installed.cgroup.tasksUsed)
  resources.writeNumber(.tasksLimit, capture.installed.cgroup.tasksLimit)
  capture.session.writer.end()
  capture.session.writer.startMap(.system)
  resources.writeText(.loadAverage, "loadavg", capacity: 256)
  capture.session.writer.end()
}

/// Reads the kernel's text files and writes them.
///
/// RUNS-DURING-CRASH.
@safe
private struct ResourceWriter {
  private let capture: Capture
  private let proc: ProcReader

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
    proc = ProcReader(proc: capture.session.files.proc.descriptor)
  }

  /// A small file of /proc, its last line's end taken away.
  @_noLocks
  func writeText(_ key: IntermediateDumpKey, _ name: StaticString, capacity: Int) {
    guard let place = unsafe capture.session.writer.beginProperty(key, capacity: capacity) else {
      return
    }
    var count = unsafe proc.read(named: name, into: place, capacity: capacity)
    if count > 0,
      unsafe place.loadUnaligned(fromByteOffset: count &- 1, as: UInt8.self) == 0x0A
    {
      count &-= 1
    }
    if count > 0 { capture.session.writer.finishProperty(count: count) }
  }

  /// Open descriptors, by the names in /proc/self/fd.
  @_noLocks
  func writeDescriptorCount() {
    let directory = proc.open(named: "self/fd", directory: true)
    guard directory >= 0 else { return }
    var entries = DirectoryEntries(directory, in: capture.session.scratch)
    var count: UInt64 = 0
    while count < 65536, let name = entries.next() {
      // Not "." and "..".
      if name.current != 0x2E { count &+= 1 }
    }
    _ = pm_close(directory)
    capture.session.writer.unsigned(.descriptorCount, count, width: 4)
  }

  /// A number in a file of the control group, held open since install; nothing for "max".
  @_noLocks
  func writeNumber(_ key: IntermediateDumpKey, _ file: HeldFile) {
    guard capture.makes(CallBit.cgroup) && capture.isSame(file) else { return }
    let scratch = capture.session.scratch
    let count = unsafe pm_pread(file.descriptor, scratch.address, 64, 0)
    guard count > 0 else { return }
    var scanner = scratch.text(count: count)
    guard scanner.current >= 0x30, scanner.current <= 0x39 else { return }
    let value = scanner.decimal()
    // Version 1 says "no limit" with the largest multiple of a page.
    if value < 1 &<< 62 { capture.session.writer.unsigned(key, value) }
  }
}

/// The files of the process's control group; none where there is none.
///
/// Held open since install: their paths may be out of reach in a crash, and a forked child has the
/// same.
struct CgroupFiles {
  let memoryUsed: HeldFile
  let memoryLimit: HeldFile
  let tasksUsed: HeldFile
  let tasksLimit: HeldFile
}
