internal import CSignalSafe
internal import Glibc

/// Notes what the program just did; every report of this process shows the last 128 such notes.
///
/// Each has the wall time, the time since the process was launched, and the thread. Takes well
/// under a microsecond, never locks and never allocates, on any thread and any number of them at
/// once, before `startHandler` too. One that the crash tore is left out and counted.
///
/// - Parameter text: of a longer one than 224 bytes, the characters before.
public func leaveBreadcrumb(_ text: String) {
  var time = timespec()
  unsafe clock_gettime(CLOCK_REALTIME, &time)
  var uptime = timespec()
  unsafe clock_gettime(CLOCK_BOOTTIME, &uptime)
  let threadID = pm_gettid()
  unsafe ClientText.withBytes(of: text, atMost: BreadcrumbRing.textCapacity) { bytes, count in
    unsafe ClientMemory.ofProcess.breadcrumbs.leave(
      bytes, count: count, time: nanoseconds(time), uptime: nanoseconds(uptime),
      threadID: threadID)
  }
}

private func nanoseconds(_ time: timespec) -> Int64 {
  Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
}
