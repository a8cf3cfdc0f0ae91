internal import CSignalSafe
internal import IntermediateDump

/// What of the process is known only now: parent, processor time, the kernel's status text.
///
/// RUNS-DURING-CRASH.
@c(pm_write_process) @_noLocks
func pm_write_process(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.session.writer.startMap(.process)
  let parent = capture.makes(CallBit.parent) ? pm_getppid() : -1
  if parent >= 0 {
    capture.session.writer.unsigned(
      .parentProcessID, UInt64(UInt32(bitPattern: parent)), width: 4)
  }
  var times = pm_processor_times()
  if unsafe capture.makes(CallBit.processorTime) && pm_getrusage(&times) == 0 {
    capture.session.writer.unsigned(.userTime, times.user)
    capture.session.writer.unsigned(.systemTime, times.system)
  }
  let capacity = 16384
  if let place = unsafe capture.session.writer.beginProperty(.processStatus, capacity: capacity) {
    let count = unsafe ProcReader(proc: capture.session.files.proc.descriptor).read(
      named: "self/status", into: place, capacity: capacity)
    if count > 0 { capture.session.writer.finishProperty(count: count) }
  }
  capture.session.writer.end()
}

/// When it happened, in a map of its own at the dump's beginning: a torn dump says it too.
@_noLocks
func writeCrashTime(_ capture: Capture) {
  guard capture.makes(CallBit.clocks) else { return }
  let time = pm_wall_clock()
  let uptime = pm_boot_clock()
  capture.session.writer.startMap(.process)
  if time != 0 { capture.session.writer.signed(.crashTime, Int64(bitPattern: time)) }
  if uptime != 0 { capture.session.writer.unsigned(.crashUptime, uptime) }
  capture.session.writer.end()
}
