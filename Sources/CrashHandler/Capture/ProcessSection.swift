internal import CSignalSafe
internal import IntermediateDump

/// What of the process is known only now: times, parent, the kernel's status text.
///
/// RUNS-DURING-CRASH.
@c(pm_write_process) @_noLocks
func pm_write_process(_ argument: UnsafeMutableRawPointer) {
  let state = unsafe argument.assumingMemoryBound(to: HandlerState.self)
  unsafe state.pointee.writer.startMap(.process)
  unsafe state.pointee.writer.signed(
    .crashTime, Int64(bitPattern: nanoseconds(clock: CLOCK_REALTIME)))
  unsafe state.pointee.writer.unsigned(.crashUptime, nanoseconds(clock: CLOCK_BOOTTIME))
  unsafe state.pointee.writer.unsigned(
    .parentProcessID, UInt64(UInt32(bitPattern: pm_getppid())), width: 4)
  var usage = rusage()
  if unsafe pm_getrusage(0, &usage) == 0 {  // RUSAGE_SELF
    unsafe state.pointee.writer.unsigned(.userTime, nanoseconds(usage.ru_utime))
    unsafe state.pointee.writer.unsigned(.systemTime, nanoseconds(usage.ru_stime))
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

/// A clock's time; 0 if it cannot be had.
@_noLocks
func nanoseconds(clock: Int32) -> UInt64 {
  var time = timespec()
  guard unsafe pm_clock_gettime(clock, &time) == 0 else { return 0 }
  return UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000
    &+ UInt64(bitPattern: Int64(time.tv_nsec))
}

@_noLocks
private func nanoseconds(_ time: timeval) -> UInt64 {
  UInt64(bitPattern: Int64(time.tv_sec)) &* 1_000_000_000
    &+ UInt64(bitPattern: Int64(time.tv_usec)) &* 1000
}
