internal import CSignalSafe
internal import IntermediateDump

/// What of the process is known only now: parent, processor time, the kernel's status text.
///
/// RUNS-DURING-CRASH.
@c(pm_write_process) @_noLocks
func pm_write_process(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  unsafe state.pointee.writer.startMap(.process)
  let parent = unsafe state.pointee.makes(CallBit.parent) ? pm_getppid() : -1
  if parent >= 0 {
    unsafe state.pointee.writer.unsigned(
      .parentProcessID, UInt64(UInt32(bitPattern: parent)), width: 4)
  }
  var times = pm_processor_times()
  if unsafe state.pointee.makes(CallBit.processorTime) && pm_getrusage(&times) == 0 {
    unsafe state.pointee.writer.unsigned(.userTime, times.user)
    unsafe state.pointee.writer.unsigned(.systemTime, times.system)
  }
  let capacity = 16384
  if let place = unsafe state.pointee.writer.beginProperty(.processStatus, capacity: capacity) {
    let name: StaticString = "self/status"
    let path = unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    let count = unsafe ProcFile(proc: state.pointee.procDescriptor).read(
      path, into: place, capacity: capacity)
    if count > 0 { unsafe state.pointee.writer.finishProperty(count: count) }
  }
  unsafe state.pointee.writer.end()
}

/// When it happened, in a map of its own at the dump's beginning: a torn dump says it too.
@_noLocks
func writeCrashTime(_ state: UnsafeMutablePointer<HandlerState>) {
  guard unsafe state.pointee.makes(CallBit.clocks) else { return }
  let time = pm_wall_clock()
  let uptime = pm_boot_clock()
  unsafe state.pointee.writer.startMap(.process)
  if time != 0 { unsafe state.pointee.writer.signed(.crashTime, Int64(bitPattern: time)) }
  if uptime != 0 { unsafe state.pointee.writer.unsigned(.crashUptime, uptime) }
  unsafe state.pointee.writer.end()
}
