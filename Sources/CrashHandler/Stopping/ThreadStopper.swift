internal import CSignalSafe
internal import IntermediateDump

/// Finds all threads, stops them, and resumes them.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump. Source: proc(5), tgkill(2).
@safe
struct ThreadStopper {
  let capture: Capture
  let status: ThreadFiles
  private let room: ThreadRoom
  /// The descriptor of `/proc/self/task`; -1 except during a search for threads.
  private let tasks: Int32

  @_noLocks
  init(_ capture: Capture, tasks: Int32 = -1) {
    self.capture = capture
    self.tasks = tasks
    status = ThreadFiles(capture.proc, tasks: tasks, scratch: capture.session.scratch)
    room = ThreadRoom(frameSize: capture.installed.signals.frameSize)
  }

  /// Stops all other threads that can be stopped within a time limit.
  ///
  /// If the dump's request stops no threads, this function only adds the threads to the table.
  ///
  /// When this function returns, every record has its final status. A thread that did not stop has a status other
  /// than `stopped` and `alsoCrashed`.
  @_noLocks
  func stopAll() {
    guard capture.session.request.stopsThreads else {
      _ = lookAtThreads(waiting: false)
      return
    }
    capture.shared.stops.stopped.store(0)
    capture.shared.stops.isPending = false
    // `target` is the number of stopped threads at which a stopping thread wakes this thread. Until the number of
    // threads to wait for is known, the target is higher than any count of stopped threads.
    capture.shared.stops.target.store(UInt32.max)
    // Each stop has a new number, so no thread can still be waiting on this number since an earlier stop. The number is
    // even, because `callStandIns` uses the lowest bit.
    capture.shared.stops.number =
      capture.shared.stops.number >= UInt32.max &- 1
      ? 2 : capture.shared.stops.number &+ 2
    capture.shared.stops.parking.store(capture.shared.stops.number)
    // A thread may create threads until it is stopped. So the table is complete if all its threads are stopped and
    // the kernel counts no other threads, or if the next pass finds no new thread.
    for _ in Indices(8) {
      let before = capture.session.threads.count
      let areAllStill = lookAtThreads(waiting: capture.mayMake(CallBit.threads))
      if areAllStill || capture.session.threads.count == before { break }
    }
    markWaiting()
  }

  // MARK: - Finding

  /// Adds each thread that is not in the table yet, and sends it a stop signal if the dump's request says so.
  ///
  /// - Parameter waiting: true to wait until new threads are stopped.
  /// - Returns: true only if every thread of the process except the calling thread is known to be stopped.
  private func lookAtThreads(waiting: Bool) -> Bool {
    capture.session.counts.threadsOmitted = 0
    let directory = capture.proc.open(named: "self/task", directory: true)
    capture.session.counts.set(.threads, isShown: directory >= 0)
    guard directory >= 0 else { return false }
    let before = capture.session.threads.count
    let stopper = ThreadStopper(capture, tasks: directory)
    stopper.findThreads()
    var areAllStill = false
    if waiting, capture.session.threads.count > before {
      stopper.waitUntilStopped()
      areAllStill = stopper.areAllStill()
    }
    capture.proc.close(directory)
    return areAllStill
  }

  /// True if all known threads are stopped, and the kernel counts no other threads except the calling thread.
  ///
  /// In this case, the process has no unknown thread, and no known thread can create one.
  ///
  /// This check needs only one system call, while listing 4,000 threads again would take the kernel 9 milliseconds.
  ///
  /// Source: Linux fs/proc/base.c, proc_task_getattr: the directory has two links, and one more for each thread.
  private func areAllStill() -> Bool {
    guard capture.mayMake(CallBit.files), capture.session.counts.threadsOmitted == 0 else {
      return false
    }
    let count = capture.session.threads.count
    for index in Indices(count) {
      guard capture.session.threads[index].status.isStill else { return false }
    }
    var directory = pm_file_status()
    return unsafe pm_fstat(tasks, &directory) == 0 && directory.links == UInt64(count) &+ 3
  }

  private func findThreads() {
    // The memory after the text of the mappings is large enough to read a long list of threads with one system call.
    var entries = DirectoryEntries(tasks, in: capture.session.mappings.room)
    while var name = entries.next() {
      let threadID = Int32(truncatingIfNeeded: name.decimal())
      if threadID > 0 { addThread(threadID) }
    }
    if entries.isBroken { capture.session.counts.set(.threads, isShown: false) }
  }

  private func addThread(_ threadID: Int32) {
    // The thread of the exception is usually the capturing thread, which is not stopped, so it is not added. In a dump
    // of a hang, the thread of the exception is another thread, so it is added.
    guard threadID != capture.session.exception.threadID || capture.session.request.isHang,
      capture.session.threads.find(threadID) == nil
    else { return }
    guard capture.session.threads.count < capture.session.counts.threadLimit,
      let record = capture.session.threads.add(threadID)
    else {
      capture.session.counts.threadsOmitted &+= 1
      return
    }
    askToStop(record)
  }

  /// Reads the thread's state and, if the thread must be stopped, sends it a stop signal that it does not block.
  ///
  /// SIGPROF is tried first, because most threads do not block it. Workers of libdispatch and Swift concurrency block
  /// every real-time signal. Also, the thread's file `stat` in `/proc` shows whether it blocks SIGPROF, but not which
  /// real-time signals it blocks. Finally, signals below 32 need no queue entry, while sending a real-time signal fails
  /// with EAGAIN when the user's processes have used up RLIMIT_SIGPENDING.
  ///
  /// A thread that blocks a signal is not sent that signal. Otherwise, a call such as `sigwait` in the thread could
  /// receive it or, in a process that continues, the signal would arrive later. Source: Linux kernel/signal.c,
  /// __send_signal_locked.
  @inline(never) @_noLocks
  func askToStop(_ record: ThreadRecord) {
    // A SIGPROF from another sender may stop the thread at any time. The stopped thread then sets its own status. So
    // this function changes the status only if it is still `before`.
    let before = record.status
    if before.isStill { return }
    guard status.read(record) else {
      record.setStatus(.gone, insteadOf: before)
      return
    }
    if let crash = capture.shared.waiting.value(of: record.threadID) {
      record.setCrash(crash)
      return
    }
    if record.hasEnded {
      record.setStatus(.running, insteadOf: before)
      return
    }
    if record.isBlocked, capture.session.threads.count <= ThreadTable.systemCallThreads {
      status.readSystemCall(record)
    }
    guard isChosen(record), capture.mayMake(CallBit.threads) else { return }
    guard hasRoom(record) else {
      record.setStatus(.unresponsive, insteadOf: before)
      return
    }
    let signal = stopSignal(for: record)
    guard signal != 0 else {
      // Through libc, a program cannot block signal 32. A thread that blocks it is therefore most likely in libc, for
      // example in pthread_create, or in one of this package's handlers. Usually, both block all signals only for a
      // moment, so the thread is tried again later. For a thread that does not block signal 32, waiting would not help,
      // because the thread may block the other signals permanently. It would not help for kernel workers of io_uring
      // either, which block all signals permanently.
      let isClosed =
        SignalMask.has(record.fields.blockedSignals, 32) && !record.fields.isKernelWorker
      record.setStatus(isClosed ? .closed : .running, insteadOf: before)
      return
    }
    record.setStatus(.signalled, insteadOf: before)
    let result = pm_tgkill(capture.shared.process.id, record.threadID, signal)
    if result < 0 {
      record.setStatus(result == -Int(ESRCH) ? .gone : .closed, insteadOf: .signalled)
    }
  }

  /// True if the thread has room for a signal frame, so that the signal does not end the process.
  private func hasRoom(_ record: ThreadRecord) -> Bool {
    if ThreadRoom.isSure(of: record.threadID) { return true }
    if record.systemCall.count == 0 { status.readSystemCall(record) }
    let used = capture.session.counts.smallStacks
    guard
      room.suffices(
        on: record.threadID, in: SystemCallPlace(record.systemCall.text),
        hasEntryStack: used < PM_ENTRY_STACKS / 2)
    else { return false }
    capture.session.counts.smallStacks = used &+ 1
    return true
  }

  /// True if the dump's request says to stop this thread.
  private func isChosen(_ record: ThreadRecord) -> Bool {
    let choice = capture.session.request.stops
    switch choice {
    case .none: return false
    case .all: return true
    case .running:
      // If the capturing thread captures another thread's hang, the table contains it too, but it must not stop.
      return !record.isBlocked
        && UInt32(bitPattern: record.threadID) != capture.shared.capturingThread.value
    }
  }

  /// Returns a signal that can stop this thread; 0 if none is known.
  ///
  /// SIGSETXID is tried last. Through libc, no program can block this signal or wait for it. It is sent only if the
  /// process ends, because libc needs it in a process that continues.
  private func stopSignal(for record: ThreadRecord) -> Int32 {
    if canProfile(record) { return SIGPROF }
    status.readBlockedSignals(record)
    // A thread that libc has just created may have unblocked its signals meanwhile, so SIGPROF is checked again.
    if canProfile(record) { return SIGPROF }
    guard record.fields.knowsAllSignals else { return 0 }
    let signals = capture.installed.signals
    let isOpen = signals.stop != 0 && !SignalMask.has(record.fields.blockedSignals, signals.stop)
    if isOpen, signals.isOurs(signals.stop, signals.stopAction) { return signals.stop }
    return capture.session.endsWithoutHandler
      && !SignalMask.has(record.fields.blockedSignals, SIGSETXID)
      && capture.shared.stops.library.take(SIGSETXID, for: signals)
      ? SIGSETXID : 0
  }

  private func canProfile(_ record: ThreadRecord) -> Bool {
    !SignalMask.has(record.fields.blockedSignals, SIGPROF)
      && capture.shared.stops.profile.take(SIGPROF, for: capture.installed.signals)
  }
}

extension Capture {
  /// Resumes the stopped threads, because the process continues or a previous handler needs them.
  ///
  /// In a forked child, which has none of these threads, this function only resets the state of stopping.
  @_noLocks
  func releaseThreads() {
    shared.stops.resume()
    shared.stops.profile.giveBack(SIGPROF, installed.signals, isPending: shared.stops.isPending)
  }
}
