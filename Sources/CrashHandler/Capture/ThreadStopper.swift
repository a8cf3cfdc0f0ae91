internal import CSignalSafe

/// Finds every thread, stops it, and lets it go again.
///
/// RUNS-DURING-CRASH, on the capturing thread. Source: proc(5), tgkill(2).
@safe
struct ThreadStopper {
  /// SIGPROF: the only signal without a meaning of its own that libdispatch and Swift concurrency
  /// leave open on their workers.
  static var profileSignal: Int32 { @_noLocks get { 27 } }

  private let state: UnsafeMutablePointer<HandlerState>
  private let procFile: ProcFile

  @_noLocks
  init(_ state: UnsafeMutablePointer<HandlerState>) {
    unsafe self.state = state
    procFile = unsafe ProcFile(proc: state.pointee.procDescriptor)
  }

  /// Stops all other threads, as far as they can be within a bound.
  ///
  /// Returns with every record in its final status; a thread that did not stop keeps `running` or
  /// `signalled`.
  @_noLocks
  func stopAll() {
    guard unsafe state.pointee.request.stops != .none else {
      findThreads()
      return
    }
    unsafe state.pointee.stopped.store(0)
    // A number that no thread can still be waiting on since an earlier crash; its lowest bit is for
    // `StandIn.call`.
    unsafe state.pointee.stopCount =
      state.pointee.stopCount >= UInt32.max &- 1
      ? 2 : state.pointee.stopCount &+ 2
    unsafe state.pointee.parking.store(state.pointee.stopCount)
    // Threads that run go on making threads while we look, so look again until nothing is new.
    var pass = 0
    while pass < 8 {
      let before = unsafe state.pointee.threads.count
      findThreads()
      if unsafe state.pointee.threads.count == before { break }
      pass &+= 1
    }
    if unsafe state.pointee.makes(CallBit.threadSignals) { waitUntilStopped() }
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
  private func askToStop(_ record: ThreadRecord) {
    guard readStatus(record) else {
      record.setStatus(.gone)
      return
    }
    if record.isBlocked, record.systemCallLength == 0,
      unsafe state.pointee.threads.count <= ThreadTable.systemCallThreads
    {
      readSystemCall(record)
    }
    guard isChosen(record) else { return }
    let signal = stopSignal(for: record)
    guard signal != 0 else { return }
    record.setStatus(.signalled)
    let result = unsafe pm_tgkill(state.pointee.processID, record.threadID, signal)
    if result == -3 {  // ESRCH
      record.setStatus(.gone)
    } else if result < 0 {
      record.setStatus(.running)
    }
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
    guard unsafe state.pointee.makes(CallBit.threadSignals) else { return 0 }
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

  // MARK: - Waiting

  /// Waits for those that were asked; gives up once nobody has stopped for a while.
  @_noLocks
  private func waitUntilStopped() {
    var idleRounds = 0
    // 25 rounds of 10 ms without a thread that stops. A processor that is busy for longer than that
    // is rarer than a thread that never will (state D or T), for which every crash would wait this
    // long.
    while idleRounds < 25 {
      let target = countThreads(awaitsRunning: idleRounds < 2)
      unsafe state.pointee.stopTarget.store(target)
      let stopped = unsafe state.pointee.stopped.value
      if stopped >= target { return }
      unsafe state.pointee.stopped.wait(while: stopped, milliseconds: 10)
      idleRounds = unsafe state.pointee.stopped.value == stopped ? idleRounds &+ 1 : 0
      if idleRounds > 0 { askAgain() }
    }
  }

  /// Threads that have stopped or may still: those asked and, in the first rounds, those found with
  /// everything blocked.
  @_noLocks
  private func countThreads(awaitsRunning: Bool) -> UInt32 {
    var result: UInt32 = 0
    var index = 0
    let count = unsafe state.pointee.threads.count
    while index < count {
      let record = unsafe state.pointee.threads[index]
      let status = record.status
      if !isChosen(record) {
        index &+= 1
        continue
      }
      if status == .running ? awaitsRunning : status != .gone { result &+= 1 }
      index &+= 1
    }
    return result
  }

  /// Looks again at each thread that has not stopped: it may have ended, or left pthread_create,
  /// inside which libc blocks every signal.
  @_noLocks
  private func askAgain() {
    var index = 0
    let count = unsafe state.pointee.threads.count
    while index < count {
      let record = unsafe state.pointee.threads[index]
      if !isChosen(record) {
        index &+= 1
        continue
      }
      if record.status == .running {
        askToStop(record)
      } else if record.status == .signalled, !stillExists(record) {
        record.setStatus(.gone)
      }
      index &+= 1
    }
  }

  @_noLocks
  private func stillExists(_ record: ThreadRecord) -> Bool {
    unsafe pm_tgkill(state.pointee.processID, record.threadID, 0) != -3  // ESRCH
  }
}
