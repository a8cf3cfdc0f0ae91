internal import CSignalSafe
internal import PendingDumps

/// Notes what the program just did; every report of this process shows the last 128 such notes.
///
/// A report shows those of the work that crashed first: the last 16 of the `withContext` around the
/// call, else of the task, else of the thread. Those last as long as no more than some 500 works
/// leave any at once; a `withContext` that has ended makes room first.
///
/// Each has its time and the thread. Takes some 100 nanoseconds, never locks and never allocates, on
/// any thread and any number of them at once, before `startHandler` too. One that the crash tore is
/// left out and counted.
///
/// - Parameter text: of a longer one than 224 bytes, the characters before.
public func leaveBreadcrumb(_ text: String) {
  let uptime = UInt64(bitPattern: SystemClock.sinceBoot)
  let threadID = pm_thread_id()
  let work = WorkKey.current(threadID: threadID)
  unsafe ClientText.withBytes(of: text, atMost: BreadcrumbRing.textCapacity) { bytes, count in
    unsafe ClientMemory.ofProcess.breadcrumbs.leave(
      bytes, count: count, work: work, uptime: uptime, threadID: threadID)
    unsafe WorkRings.ofProcess.ring(of: work, uptime: uptime)?.leave(
      bytes, count: count, work: work, uptime: uptime, threadID: threadID)
  }
}

extension WorkKey {
  /// The key of what the caller works on: the context around it, else its task, else its thread.
  fileprivate static func current(threadID: Int32) -> UInt64 {
    if let value = unsafe pm_work_value() { return unsafe ContextValue(value).work }
    let task = pm_task_id()
    return task != 0 ? WorkKey.task(task) : WorkKey.thread(threadID)
  }
}
