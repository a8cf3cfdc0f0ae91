internal import CSignalSafe
internal import IntermediateDump

/// Writes the limits and the usage of resources, for example the number of mappings, the cgroup's memory, and the
/// machine's load.
///
/// RUNS-DURING-CRASH.
@c(pm_write_resources) @_noLocks
func pm_write_resources(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.writer.startMap(.process)
  capture.writeText(.limitsText, "self/limits", capacity: 8192)
  let mappingCount = capture.session.mappings.total
  if mappingCount > 0 {
    capture.writer.unsigned(.mappingCount, UInt64(truncatingIfNeeded: mappingCount), width: 4)
  }
  let cgroup = capture.installed.cgroup
  capture.writeNumber(.tasksUsed, cgroup.tasksUsed)
  capture.writeNumber(.tasksLimit, cgroup.tasksLimit)
  capture.writeText(.oomScoreText, "self/oom_score_adj", capacity: 16)
  capture.writeText(.mappingLimitText, "sys/vm/max_map_count", capacity: 64)
  capture.writer.end()
  capture.writer.startMap(.system)
  capture.writeText(.processorText, "cpuinfo", capacity: 4096)
  capture.writeText(.processorList, "/sys/devices/system/cpu/online", capacity: 1024)
  capture.writeText(.loadAverage, "loadavg", capacity: 256)
  capture.writer.end()
}

extension Capture {
  /// Writes the contents of a small file in /proc or /sys, without line feeds at the end.
  fileprivate func writeText(_ key: IntermediateDumpKey, _ name: StaticString, capacity: Int) {
    guard let place = unsafe writer.beginProperty(key, capacity: capacity) else { return }
    let text = unsafe Bytes(place, count: proc.read(named: name, into: place, capacity: capacity))
    let count = text.withoutLineFeeds.count
    if count > 0 { writer.finishProperty(count: count) }
  }

  /// Writes the number in a cgroup file; writes nothing for "max".
  ///
  /// The file was opened when the handler was started, because the handler may be unable to open it in a crash.
  fileprivate func writeNumber(_ key: IntermediateDumpKey, _ file: HeldFile) {
    if let value = number(in: file) { writer.unsigned(key, value) }
  }
}
