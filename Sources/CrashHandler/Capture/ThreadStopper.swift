internal import CSignalSafe

/// Finds every thread, stops it, and lets it go again.
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: proc(5), tgkill(2).
@safe
struct ThreadStopper {
  /// SIGPROF: the only signal without a meaning of its own that libdispatch and Swift concurrency
  /// leave open on their workers.
  static var profileSignal: Int32 { @_noLocks get { 27 } }

  let state: UnsafeMutablePointer<HandlerState>
  private let procFile: ProcFile

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
    procFile = unsafe ProcFile(proc: state.pointee.procDescriptor)
  }

  /// Stops all other threads, as far as they can be within a bound.
  ///
  /// Returns with every record in its final status; a thread that did not stop has another than
  /// `stopped` and `alsoCrashed`.
  @_noLocks
  func stopAll() {
    guard unsafe state.pointee.request.stops != .none else {
      findThreads()
      return
    }
    unsafe state.pointee.stopped.store(0)
    // Out of reach until it is known how many are waited for.
    unsafe state.pointee.stopTarget.store(UInt32.max)
    // A number that no thread can still be waiting on since an earlier crash; its lowest bit is for
    // `StandIn.call`.
    unsafe state.pointee.stopCount =
      state.pointee.stopCount >= UInt32.max &- 1
      ? 2 : state.pointee.stopCount &+ 2
    unsafe state.pointee.parking.store(state.pointee.stopCount)
    // A thread goes on making threads until it stands still, so only a list that was made when all
    // known ones do is whole.
    var pass = 0
    while pass < 8 {
      let before = unsafe state.pointee.threads.count
      findThreads()
      if unsafe pass > 0 && state.pointee.threads.count == before { break }
      if unsafe state.pointee.makes(CallBit.threadSignals) { waitUntilStopped() }
      pass &+= 1
    }
    markWaiting()
  }

  /// Tells the capturing thread, on another one, that this stands still now.
  ///
  /// Only the last one wakes it: a thousand wake-ups would cost more than the stops.
  @_noLocks
  static func noteStop(_ state: UnsafeMutablePointer<HandlerState>) {
    if unsafe state.pointee.stopped.add(1) >= state.pointee.stopTarget.value {
      unsafe state.pointee.stopped.wakeAll()
    }
  }

  /// Lets the threads go, for a process that will live or a previous handler that needs them.
  @_noLocks
  func releaseAll() {
    unsafe state.pointee.parking.store(0)
    unsafe state.pointee.parking.wakeAll()
    guard unsafe state.pointee.hasProfileAction else { return }
    // A stop signal still pending on a thread that blocks SIGPROF would kill the process under the
    // old action if that is the default. Ignoring a signal discards what is pending.
    var ignore = pm_signal_action()
    ignore.handler = 1
    _ = unsafe pm_sigaction(ThreadStopper.profileSignal, &ignore, nil)
    _ = unsafe pm_sigaction(
      ThreadStopper.profileSignal, &state.pointee.previousProfileAction, nil)
    unsafe state.pointee.hasProfileAction = false
  }

  // MARK: - Finding

  /// Adds each thread that is not in the table yet, and asks it to stop.
  @_noLocks
  private func findThreads() {
    unsafe state.pointee.threadsOmitted = 0
    let directory = unsafe procFile.open(taskFolder, directory: true)
    guard directory >= 0 else { return }
    // Half of the scratch memory is for names of threads, the other half for their status files.
    let half = unsafe state.pointee.scratchSize / 2
    var entries = unsafe DirectoryEntries(
      directory, place: state.pointee.scratch, capacity: half)
    while var name = entries.next() {
      let threadID = Int32(truncatingIfNeeded: name.decimal())
      if threadID > 0 { addThread(threadID) }
    }
    _ = pm_close(directory)
  }

  private var taskFolder: UnsafePointer<CChar> {
    @_noLocks get {
      let name: StaticString = "self/task"
      return unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    }
  }

  @_noLocks
  private func addThread(_ threadID: Int32) {
    // A hung thread is not the one that captures.
    guard unsafe threadID != state.pointee.threadID || state.pointee.request.kind == .hang,
      unsafe state.pointee.threads.find(threadID) == nil
    else { return }
    guard let record = unsafe state.pointee.threads.add(threadID) else {
      unsafe state.pointee.threadsOmitted &+= 1
      return
    }
    askToStop(record)
  }

  /// Reads the thread's status, and sends it a stop signal that it does not block.
  @_noLocks
  func askToStop(_ record: ThreadRecord) {
    guard readStatus(record) else {
      record.setStatus(.gone)
      return
    }
    if let crash = unsafe WaitingCrashes(state).crash(of: record.threadID) {
      record.setCrash(crash)
      return
    }
    if record.isBlocked, record.systemCallLength == 0,
      unsafe state.pointee.threads.count <= ThreadTable.systemCallThreads
    {
      readSystemCall(record)
    }
    guard isChosen(record), unsafe state.pointee.makes(CallBit.threadSignals) else { return }
    let signal = stopSignal(for: record)
    guard signal != 0 else {
      // A program cannot block 32: libc does, inside pthread_create and its like, and so do our own
      // handlers. What the program itself closes stays closed, and the kernel tells as much at once.
      let isClosed = isBlocked(32, in: record.blockedSignals) && !record.isKernelWorker
      record.setStatus(isClosed ? .closed : .running)
      return
    }
    record.setStatus(.signalled)
    let result = send(signal, to: record)
    if result == -3 {  // ESRCH
      record.setStatus(.gone)
    } else if result < 0 {
      record.setStatus(.closed)
    }
  }

  /// Sends a stop signal; SIGPROF where there is no room for a real-time one.
  ///
  /// Once RLIMIT_SIGPENDING is used up, by whichever processes of the user, real-time signals fail
  /// with EAGAIN; those below 32 never do. Source: Linux kernel/signal.c, __send_signal_locked.
  @_noLocks
  private func send(_ signal: Int32, to record: ThreadRecord) -> Int {
    let process = unsafe state.pointee.processID
    let result = pm_tgkill(process, record.threadID, signal)
    let profile = ThreadStopper.profileSignal
    guard result == -11, signal != profile,  // EAGAIN
      !isBlocked(profile, in: record.blockedSignals), takeProfileSignal()
    else { return result }
    return pm_tgkill(process, record.threadID, profile)
  }

  /// Whether this thread is to be stopped.
  @_noLocks
  private func isChosen(_ record: ThreadRecord) -> Bool {
    let choice = unsafe state.pointee.request.stops
    if choice == .all { return true }
    guard choice != .none, !record.isBlocked else { return false }
    // The thread that captures is in the table where it captures another one's hang.
    if choice == .running {
      return unsafe UInt32(bitPattern: record.threadID) != state.pointee.owner.value
    }
    return unsafe record.threadID == state.pointee.threadID
  }

  /// Name, state and blocked signals; false if the thread has ended.
  @_noLocks
  func readStatus(_ record: ThreadRecord) -> Bool {
    let half = unsafe state.pointee.scratchSize / 2
    let place = unsafe state.pointee.scratch + half
    let count = unsafe procFile.readTask(record.threadID, "status", into: place, capacity: half)
    guard count > 0 else {
      // Without /proc nobody is known to have ended.
      return unsafe state.pointee.procDescriptor < 0
    }
    var scanner = unsafe TextScanner(place, count: count)
    if scanner.find("Name:") {
      unsafe record.setName(scanner.address, count: scanner.lengthOfLine)
      record.isKernelWorker = scanner.matches("iou-")
    }
    if scanner.find("State:") { record.stateLetter = scanner.current }
    if scanner.find("SigBlk:") { record.blockedSignals = scanner.hexadecimal() }
    return true
  }

  /// What a blocked thread waits in; once it has been asked to stop, it would be in our handler.
  @_noLocks
  func readSystemCall(_ record: ThreadRecord) {
    let half = unsafe state.pointee.scratchSize / 2
    let place = unsafe state.pointee.scratch + half
    let count = unsafe procFile.readTask(record.threadID, "syscall", into: place, capacity: half)
    let scanner = unsafe TextScanner(place, count: count)
    if scanner.matches("running") {
      record.removeSystemCall()
    } else {
      unsafe record.setSystemCall(scanner.address, count: scanner.lengthOfLine)
    }
  }

  /// The first signal that stops this thread; 0 if it blocks them all.
  @_noLocks
  private func stopSignal(for record: ThreadRecord) -> Int32 {
    let realTime = unsafe state.pointee.stopSignal
    if realTime != 0, !isBlocked(realTime, in: record.blockedSignals) { return realTime }
    guard !isBlocked(ThreadStopper.profileSignal, in: record.blockedSignals) else { return 0 }
    return takeProfileSignal() ? ThreadStopper.profileSignal : 0
  }

  @_noLocks
  private func isBlocked(_ signal: Int32, in mask: UInt64) -> Bool {
    mask &>> UInt64(truncatingIfNeeded: signal &- 1) & 1 == 1
  }

  /// Puts the stop handler in for SIGPROF, once; the action it replaces is kept.
  @_noLocks
  private func takeProfileSignal() -> Bool {
    if unsafe state.pointee.hasProfileAction { return true }
    // In a program that takes every real-time signal there is no handler to put in, and SIGPROF with
    // its default action would end the process.
    guard unsafe state.pointee.stopSignal != 0 else { return false }
    guard
      unsafe pm_sigaction(
        ThreadStopper.profileSignal, &state.pointee.stopAction,
        &state.pointee.previousProfileAction) == 0
    else { return false }
    unsafe state.pointee.hasProfileAction = true
    return true
  }
}
