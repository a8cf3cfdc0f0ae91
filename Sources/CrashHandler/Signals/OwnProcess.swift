internal import CSignalSafe

/// Tells three kinds of process apart by a word in memory, `shared.copyMark`, which the kernel sets to 0 in a
/// forked child (MADV_WIPEONFORK).
///
/// - Own process: the word is set, and the process ID is ours.
/// - Forked child, a copy: the word is 0. That holds for `_Fork`, a raw clone, a child in which an earlier atfork
///   handler crashed, and a first process of a PID namespace whose parent has the same number. Our atfork handler
///   calls `becomeOwnProcess` at once; where it has not run, the first crash does.
/// - Child of vfork, or any other process that shares the memory: the word is set, and the process ID is another.
///
/// On kernels that wipe nothing (before 4.14) a copy is known by our atfork handler alone.
///
/// RUNS-DURING-CRASH. Source: madvise(2), MADV_WIPEONFORK.
extension Capture {
  /// Makes the state that of the calling process, if it is a forked child; true if the state is that of the
  /// calling process.
  ///
  /// False in a process that runs in another one's memory. If several threads of a copy crash,
  /// one does the work and the others wait, at most ten seconds.
  @_noLocks
  func becomeOwnProcess() -> Bool {
    let mark = shared.copyMark
    let worker = Shared.CopyMark.inWork | UInt32(bitPattern: pm_gettid())
    var rounds = 0
    while rounds < 100 {
      let found = mark.exchange(expected: Shared.CopyMark.wiped, desired: worker)
      if found == Shared.CopyMark.wiped {
        leaveParent()
        mark.store(Shared.CopyMark.whole)
        mark.wakeAll()
        return true
      }
      if found == Shared.CopyMark.whole { return shared.isOwnProcess }
      // The calling thread faulted in `leaveParent`: its signal is passed on.
      if found == worker { return false }
      mark.wait(while: found, milliseconds: 100)
      rounds &+= 1
    }
    return false
  }

  /// Called by our atfork handler: the process is a copy also where the kernel does not tell.
  fileprivate func becomeForkedProcess() {
    if !shared.wipesMark { shared.copyMark.store(Shared.CopyMark.wiped) }
    _ = becomeOwnProcess()
  }

  /// Lets go of what a copy shares with its parent: the dump file, whose offset the two would share,
  /// and the FIFO, whose open end says that the parent lives.
  ///
  /// A crash makes files of its own. Under the rules of crash code also at a fork, because a child of
  /// a process with threads may do no more.
  private func leaveParent() {
    // Not if the program had closed them: the numbers may belong to other files.
    closeDumpFile()
    if isSame(session.files.fifo) {
      _ = pm_close(session.files.fifo.descriptor)
    }
    session.files.fifo.descriptor = -1
    if isSame(session.runRecord.file) {
      _ = pm_close(session.runRecord.file.descriptor)
    }
    session.runRecord.file.descriptor = -1
    // The kernel has kept the page from the child.
    session.runRecord.mapping = RecordMapping()
    session.runRecord.isFollowed = false
    session.runRecord.termination = 0
    shared.process.isForkedChild = true
    session.files.isMissing = true
    shared.process.run.isOfThisProcess = false
    // Another thread of the parent may have been capturing; it is not in the child.
    session.reset()
    releaseThreads()
    shared.waiting.removeAll()
    pm_forget_entry_stacks()
    shared.dumpingThreads.removeAll()
    leaveHangDumps()
    shared.capturingThread.store(0)
    shared.ending.store(0)
    shared.survived.count = 0
    shared.knownFaults.removeAll()
    shared.abortingThread = 0
    // The thread has another ID here.
    pm_tell_own_stack()
    // Timers are not inherited.
    if mayMake(CallBit.threads) {
      session.time.timer = WatchdogTimer.make(signal: installed.signals.watchdog)
    }
    shared.process.id = pm_getpid()
  }

  /// Closes the descriptors of the parent's hang dumps; the files are the parent's.
  private func leaveHangDumps() {
    let dumps = shared.hangDumps
    var index = 0
    while index < HangDumps.capacity {
      if dumps.isValid(index) { dumps.close(index) }
      index &+= 1
    }
  }
}

/// Runs in a child that fork(2) has made, before fork returns there.
///
/// At once, and not when the child first needs the handler: a child that never does would hold the
/// FIFO of its parent open, and say that the parent lives.
///
/// Source: pthread_atfork(3), fork(2).
@c(pm_handle_fork) @_noLocks
func pm_handle_fork() {
  guard let capture = Capture.ofHandler else { return }
  capture.becomeForkedProcess()
}

/// Makes a forked child the program that continues, as after daemon(3), whose parent exits: it gets what
/// `startHandler` gave its parent, a locked file with preallocated blocks, a FIFO, and a run record
/// that tells how it ends.
///
/// Another child has none of it before it crashes: most are short, and three files for each worker
/// of a server would be many. Under the rules of crash code, because the parent may have threads.
///
/// Source: pthread_atfork(3), daemon(3).
@c(pm_continue_run) @_noLocks
func pm_continue_run() {
  guard let capture = Capture.ofHandler else { return }
  guard capture.becomeOwnProcess() && capture.shared.process.isForkedChild,
    capture.session.files.isMissing && capture.mayMake(CallBit.files)
  else { return }
  let writing = OwnWriting(
    raisesLimit: capture.mayMake(CallBit.files),
    blocking: ~capture.installed.signals.open)
  let standard = StandardDescriptors()
  capture.session.runRecord.isFollowed = capture.installed.encoded.course.count > 0
  if !capture.prepareDumpFile() { capture.session.runRecord.isFollowed = false }
  standard.giveBack()
  writing.finish(hasFailed: true)
}
