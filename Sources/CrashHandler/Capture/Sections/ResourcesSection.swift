internal import CSignalSafe
internal import IntermediateDump

extension SectionRow {
  static var resources: SectionRow {
    @_noLocks get { unsafe SectionRow(.resources, pm_write_resources) }
  }
}

/// Writes the limits and the usage of resources: descriptors, mappings, the cgroup, and the machine's load.
///
/// RUNS-DURING-CRASH.
@c(pm_write_resources) @_noLocks
func pm_write_resources(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.writer.startMap(.process)
  capture.writeText(.limitsText, "self/limits", capacity: 8192)
  let showsDescriptors = capture.writeDescriptorCount()
  capture.session.counts.set(.descriptors, isShown: showsDescriptors)
  let mappingCount = capture.session.mappings.count
  if mappingCount > 0 {
    capture.writer.unsigned(.mappingCount, UInt64(truncatingIfNeeded: mappingCount), width: 4)
  }
  let cgroup = capture.installed.cgroup
  capture.writeNumber(.memoryUsed, cgroup.memoryUsed)
  capture.writeNumber(.memoryLimit, cgroup.memoryLimit)
  capture.writeNumber(.tasksUsed, cgroup.tasksUsed)
  capture.writeNumber(.tasksLimit, cgroup.tasksLimit)
  capture.writeOOMScoreAdjustment()
  capture.writeMappingLimit()
  capture.writer.end()
  capture.writer.startMap(.system)
  capture.writeText(.processorText, "cpuinfo", capacity: 4096)
  capture.writeProcessorCount()
  capture.writeText(.loadAverage, "loadavg", capacity: 256)
  capture.writer.end()
}

extension Capture {
  /// Writes a small file of /proc without its last line feed.
  fileprivate func writeText(_ key: IntermediateDumpKey, _ name: StaticString, capacity: Int) {
    guard let place = unsafe writer.beginProperty(key, capacity: capacity) else { return }
    var count = unsafe proc.read(named: name, into: place, capacity: capacity)
    if count > 0,
      unsafe place.loadUnaligned(fromByteOffset: count &- 1, as: UInt8.self) == 0x0A
    {
      count &-= 1
    }
    if count > 0 { writer.finishProperty(count: count) }
  }

  /// Writes the number of open descriptors, one for each name in /proc/thread-self/fd; false if the count failed.
  fileprivate func writeDescriptorCount() -> Bool {
    let directory = proc.open(named: "thread-self/fd", directory: true)
    guard directory >= 0 else { return false }
    var entries = DirectoryEntries(directory, in: session.scratch)
    var count: UInt64 = 0
    while count < 65536, let name = entries.next() {
      // Skips "." and "..".
      if name.current != 0x2E { count &+= 1 }
    }
    _ = pm_close(directory)
    guard !entries.isBroken else { return false }
    writer.unsigned(.descriptorCount, count, width: 4)
    return true
  }

  /// Writes the limit on the number of mappings of a process.
  fileprivate func writeMappingLimit() {
    let scratch = session.scratch
    let count = unsafe proc.read(
      named: "sys/vm/max_map_count", into: scratch.address, capacity: 64)
    var text = scratch.text(count: count)
    if text.current >= 0x30, text.current <= 0x39 { writer.unsigned(.mappingLimit, text.decimal()) }
  }

  /// Writes the number of processors online, from a list such as "0-3,6".
  ///
  /// Source: Linux Documentation/admin-guide/cputopology.rst.
  fileprivate func writeProcessorCount() {
    let scratch = session.scratch
    let count = unsafe proc.read(
      named: "/sys/devices/system/cpu/online", into: scratch.address, capacity: 1024)
    var text = scratch.text(count: count)
    var processors: UInt64 = 0
    while text.current >= 0x30, text.current <= 0x39 {
      let first = text.decimal()
      var last = first
      if text.matches("-") {
        text.skip(0x2D)
        last = text.decimal()
      }
      processors &+= last &- first &+ 1
      text.skip(0x2C)
    }
    if processors != 0 { writer.unsigned(.processorCount, processors, width: 4) }
  }

  /// Writes `oom_score_adj`, which influences how soon the kernel kills this process when memory runs out.
  fileprivate func writeOOMScoreAdjustment() {
    let scratch = session.scratch
    let count = unsafe proc.read(
      named: "self/oom_score_adj", into: scratch.address, capacity: 16)
    var text = scratch.text(count: count)
    let isNegative = text.matches("-")
    text.skip(0x2D)
    guard text.current >= 0x30, text.current <= 0x39 else { return }
    let value = Int64(truncatingIfNeeded: text.decimal())
    writer.signed(.oomScoreAdjustment, isNegative ? 0 &- value : value, width: 4)
  }

  /// Writes the number in a cgroup file; writes nothing for "max".
  ///
  /// The file was opened when the handler was started.
  fileprivate func writeNumber(_ key: IntermediateDumpKey, _ file: HeldFile) {
    if let value = calls.number(in: file, session.scratch) { writer.unsigned(key, value) }
  }
}
