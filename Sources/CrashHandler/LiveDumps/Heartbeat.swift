internal import CSignalSafe
internal import Glibc
package import IntermediateDump
internal import PendingDumps
internal import Synchronization

/// Facts about the last heartbeat; the mutex around this value is held while a heartbeat is written.
private struct LastHeartbeat {
  /// The minimum time in nanoseconds between two readings of the locks that the process holds on files.
  ///
  /// Reading the locks of all descriptors may take a millisecond, so not every heartbeat reads them.
  private static let lockInterval: Int64 = 5_000_000_000

  /// The report ID for a hang in progress, which the hang monitors passed to `writeHeartbeat`; nil if there is none.
  var hang: ReportID?
  /// The time of the heartbeat in nanoseconds after boot.
  var time: Int64 = 0
  /// The files on which this process held locks when they were last looked up, and the time of that lookup.
  private var lockedFiles: [String] = []
  private var lockTime: Int64?

  mutating func write() {
    guard let capture = Capture.ofHandler, capture.followsRun else { return }
    time = SystemClock.sinceBoot
    if !capture.installed.isSanitized, lockTime.map({ time &- $0 >= Self.lockInterval }) ?? true {
      lockedFiles = LockedFiles.current()
      lockTime = time
    }
    writeEvidence(of: capture, hang, lockedFiles)
  }
}
private let last = Mutex(LastHeartbeat())
/// The interval between heartbeats in milliseconds; 0 for none.
private let heartbeatInterval = Atomic<Int>(0)

/// Writes the current state of this process into the run record, in place of the previous heartbeat.
///
/// The thread of the hang monitors calls this function. A call reads about ten small system files and, at most every
/// five seconds, the locks of the open files; it makes one write. If reports on how processes end are turned off, the
/// function does nothing. If the write fails, the record keeps the previous heartbeat.
///
/// - Parameter hangReport: the report ID of a hang in progress; nil if there is none.
package func writeHeartbeat(hangReport: ReportID?) {
  last.withLock { last in
    last.hang = hangReport
    last.write()
  }
}

/// Starts the thread for `HandlerOptions.heartbeatInterval`.
///
/// The thread writes a heartbeat now, and then after each interval in which no other thread, such as that of the hang
/// monitors, has written one.
func startHeartbeats(every interval: Duration) throws(CrashHandlerError) {
  heartbeatInterval.store(
    Int(min(max(interval.wholeMilliseconds, 100), 86_400_000)), ordering: .relaxed)
  unsafe try HelperThread.start { _ in
    HelperThread.prepare("heartbeat")
    let milliseconds = heartbeatInterval.load(ordering: .relaxed)
    while true {
      last.withLock { last in
        let age = SystemClock.sinceBoot &- last.time
        if age >= Int64(milliseconds) &* 1_000_000 { last.write() }
      }
      var time = timespec(
        tv_sec: milliseconds / 1000, tv_nsec: milliseconds % 1000 * 1_000_000)
      unsafe clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nil)
    }
  }
}

private func writeEvidence(of capture: Capture, _ hangReport: ReportID?, _ lockedFiles: [String]) {
  let cgroup = Cgroup.current()
  var evidence = RunEvidence.current(cgroup.memory)
  evidence.readMachineMemory()
  cgroup.close()
  evidence.hangReport = hangReport
  if !capture.installed.isSanitized {
    evidence.lockedFiles = lockedFiles
    evidence.breadcrumbs = ClientMemory.ofProcess.breadcrumbs.last(8)
    evidence.openContexts = OpenContextTable.oldest()
  }
  guard let bytes = evidence.heartbeatBytes() else { return }
  unsafe bytes.withUnsafeBytes { buffer in
    if let base = buffer.baseAddress {
      _ = unsafe capture.writeRunNote(base, buffer.count, at: RunEvidence.heartbeatOffset)
    }
  }
}

extension BreadcrumbRing {
  /// Returns the complete ones among the last `count` breadcrumbs, oldest first; not for crash code.
  fileprivate func last(_ count: UInt64) -> [RunEvidence.Breadcrumb] {
    let slot = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.stride, alignment: 8)
    defer { unsafe slot.deallocate() }
    guard let base = slot.baseAddress else { return [] }
    let end = leftCount
    var found: [RunEvidence.Breadcrumb] = []
    for number in (end > count ? end - count : 0)..<end {
      let size = unsafe read(number, into: base)
      guard size >= 0 else { continue }
      let content = unsafe slot[Self.textOffset...]
      var breadcrumb = unsafe RunEvidence.Breadcrumb(
        uptime: base.load(fromByteOffset: 16, as: UInt64.self),
        threadID: base.load(fromByteOffset: 24, as: UInt32.self),
        text: String(decoding: content.prefix(size), as: UTF8.self))
      breadcrumb.level = unsafe BreadcrumbLevel(rawValue: slot[Self.levelOffset])
      breadcrumb.metadata = unsafe BreadcrumbMetadata(
        content.dropFirst(size).prefix(Int(slot[Self.metadataCountOffset])))
      found.append(breadcrumb)
    }
    return found
  }
}
