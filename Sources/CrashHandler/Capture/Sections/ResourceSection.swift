internal import CSignalSafe
internal import IntermediateDump

/// Writes what the process used of what it may use: limits, descriptors, mappings, its cgroup, and
/// the machine's load.
///
/// RUNS-DURING-CRASH.
@safe
struct ResourceSection {
  private let proc: ProcReader
  private let scratch: Scratch
  private let calls: CrashCalls
  private let output: DumpOutput

  @_noLocks
  init(proc: ProcReader, scratch: Scratch, calls: CrashCalls, output: DumpOutput) {
    self.proc = proc
    self.scratch = scratch
    self.calls = calls
    self.output = output
  }

  /// - Parameter mappingCount: 0 where they could not be read.
  /// - Returns: false if the descriptors could not be counted.
  @_noLocks
  func write(_ cgroup: CgroupFiles, mappingCount: Int) -> Bool {
    output.startMap(.process)
    writeText(.limitsText, "self/limits", capacity: 8192)
    let showsDescriptors = writeDescriptorCount()
    if mappingCount > 0 {
      output.unsigned(.mappingCount, UInt64(truncatingIfNeeded: mappingCount), width: 4)
    }
    writeNumber(.memoryUsed, cgroup.memoryUsed)
    writeNumber(.memoryLimit, cgroup.memoryLimit)
    writeNumber(.tasksUsed, cgroup.tasksUsed)
    writeNumber(.tasksLimit, cgroup.tasksLimit)
    output.end()
    output.startMap(.system)
    writeText(.loadAverage, "loadavg", capacity: 256)
    output.end()
    return showsDescriptors
  }

  /// Writes a small file of /proc without its last line feed.
  private func writeText(_ key: IntermediateDumpKey, _ name: StaticString, capacity: Int) {
    guard let place = unsafe output.beginProperty(key, capacity: capacity) else { return }
    var count = unsafe proc.read(named: name, into: place, capacity: capacity)
    if count > 0,
      unsafe place.loadUnaligned(fromByteOffset: count &- 1, as: UInt8.self) == 0x0A
    {
      count &-= 1
    }
    if count > 0 { output.finishProperty(count: count) }
  }

  /// Writes the number of open descriptors, by the names in /proc/thread-self/fd.
  private func writeDescriptorCount() -> Bool {
    let directory = proc.open(named: "thread-self/fd", directory: true)
    guard directory >= 0 else { return false }
    var entries = DirectoryEntries(directory, in: scratch)
    var count: UInt64 = 0
    while count < 65536, let name = entries.next() {
      // Not "." and "..".
      if name.current != 0x2E { count &+= 1 }
    }
    _ = pm_close(directory)
    guard !entries.isBroken else { return false }
    output.unsigned(.descriptorCount, count, width: 4)
    return true
  }

  /// Writes the number in a file of the cgroup, held open since install; nothing for "max".
  private func writeNumber(_ key: IntermediateDumpKey, _ file: HeldFile) {
    if let value = calls.number(in: file, scratch) { output.unsigned(key, value) }
  }
}
