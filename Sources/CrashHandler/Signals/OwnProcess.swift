internal import CSignalSafe

/// Detects, through a word in memory, whether the handler's state belongs to the calling process.
///
/// The word is `shared.copyMark`, which the kernel sets to 0 (`wiped`) in a forked child (MADV_WIPEONFORK). There are
/// three kinds of process:
///
/// - The process itself: the word is `own`, and the process ID is the one in `shared.process`.
/// - Forked child, called a copy: the word is `wiped`. The atfork handler `pm_handle_fork` calls `becomeOwnProcess`
///   immediately. If the atfork handler does not run (after `_Fork` or a raw clone, or if an earlier atfork handler
///   crashed), the crash handler calls `becomeOwnProcess` at the first crash, and `LiveDump` calls it before a dump
///   without a crash. Unlike the process ID, the word reveals a copy even if both the copy and its parent have the
///   process ID 1, because each is the first process of a PID namespace.
/// - A vfork child, or any other process that shares the memory: the word is `own`, but the process ID differs.
///
/// While a thread of a copy adapts the state to the copy, the word is `inWork` combined with that thread's ID.
/// Kernels before 4.14 do not wipe the word; on these kernels, only the atfork handler recognizes a copy.
///
/// RUNS-DURING-CRASH. Source: madvise(2), MADV_WIPEONFORK.
extension Capture {
  /// In a forked child, adapts the state to the child; returns true if the state now belongs to the calling process.
  ///
  /// Returns false in a process that shares another process's memory, such as a vfork child, and if the state could not
  /// be adapted. If several threads of a forked child crash, one of them adapts the state, and the others wait for at
  /// most ten seconds.
  @_noLocks
  func becomeOwnProcess() -> Bool {
    let mark = shared.copyMark
    for _ in Indices(100) {
      if mark.value == Shared.CopyMark.own { return shared.isOwnProcess }
      let worker = Shared.CopyMark.inWork | UInt32(bitPattern: pm_gettid())
      let found = mark.exchange(expected: Shared.CopyMark.wiped, desired: worker)
      if found == Shared.CopyMark.wiped {
        leaveParent()
        mark.store(Shared.CopyMark.own)
        mark.wakeAll()
        return true
      }
      // The calling thread faulted in `leaveParent`, so no dump of its crash is taken.
      if found == worker { return false }
      if found != Shared.CopyMark.own { mark.wait(while: found, milliseconds: 100) }
    }
    return false
  }

  /// Adapts the state in the atfork handler, even on a kernel that does not wipe `copyMark`.
  ///
  /// The atfork handler runs only in a forked child. So on such a kernel, this function itself sets `copyMark` to
  /// `wiped`.
  fileprivate func becomeForkedProcess() {
    if !shared.wipesMark { shared.copyMark.store(Shared.CopyMark.wiped) }
    _ = becomeOwnProcess()
  }

  /// Closes the files that a forked child shares with its parent, and resets the state that describes the parent.
  ///
  /// The dump file is closed because parent and child would share its offset. The FIFO is closed because its open end
  /// would show that the parent is alive, even after the parent has ended.
  ///
  /// If the child crashes, the handler creates new files. This function follows the rules for crash code even in the
  /// atfork handler, because the child of a process with several threads may make only async-signal-safe calls.
  private func leaveParent() {
    // The program may have closed these descriptors and reused their numbers, so `close` first checks which file each
    // descriptor refers to.
    closeDumpFile()
    close(session.files.fifo)
    session.files.fifo.descriptor = -1
    close(session.runRecord.file)
    // Nothing is unmapped, because MADV_DONTFORK has kept the mapped page of the record out of the child.
    session.runRecord = SessionRunRecord()
    shared.process.isForkedChild = true
    session.files.isMissing = true
    shared.process.run.isOfThisProcess = false
    // Another thread of the parent may have been capturing. That thread does not exist in the child, so the state of
    // its capture is reset.
    session.reset()
    releaseThreads()
    shared.waiting.removeAll()
    shared.postponed.forget()
    pm_forget_entry_stacks()
    shared.dumpingThreads.removeAll()
    leaveHangDumps()
    shared.leaveTurn()
    shared.ending.store(0)
    shared.survived.count = 0
    shared.knownFaults.removeAll()
    shared.abortingThread = 0
    // The table of alternate stacks is indexed by thread ID. The child's thread has a new ID, so its stack is recorded
    // again.
    pm_tell_own_stack()
    // A forked child does not inherit timers, so it needs a new one.
    if mayMake(CallBit.threads) {
      session.time.timer = WatchdogTimer.make(signal: installed.signals.watchdog)
    }
    shared.process.id = pm_getpid()
  }

  /// Closes the descriptors of the parent's hang dumps; the files stay, because they belong to the parent.
  private func leaveHangDumps() {
    let dumps = shared.hangDumps
    for index in Indices(HangDumps.capacity) where dumps.isValid(index) {
      dumps.close(index)
    }
  }
}

/// Runs in a child of fork(2), before fork returns in the child.
///
/// The handler's state is adapted here and not at the child's first crash. Otherwise, a child that never crashes would
/// keep its parent's FIFO open, and the parent would still look alive after its end.
///
/// Source: pthread_atfork(3), fork(2).
@c(pm_handle_fork) @_noLocks
func pm_handle_fork() {
  guard let capture = Capture.ofHandler else { return }
  capture.becomeForkedProcess()
}

/// Creates the handler's files for the child in which the program continues after daemon(3).
///
/// If daemon(3) failed, the program continues in the parent, and this function takes back the note that the parent
/// exits.
///
/// - Parameter isChild: 1 in the child, 0 in the parent.
///
/// The child gets the same files as `startHandler` created for the parent: FIFO, run record and a locked file with
/// preallocated blocks.
///
/// Other children create these files only when they crash, because most children do not run long, and a server would
/// otherwise have three files for each of its workers. This function follows the rules for crash code, because the
/// parent may have had other threads.
///
/// Source: pthread_atfork(3), daemon(3).
@c(pm_continue_run) @_noLocks
func pm_continue_run(_ isChild: Int32) {
  guard let capture = Capture.ofHandler else { return }
  if isChild == 0 { return capture.forgetRunEnd() }
  guard capture.becomeOwnProcess() && capture.shared.process.isForkedChild,
    capture.session.files.isMissing && capture.mayMake(CallBit.files)
  else { return }
  let writing = OwnWriting(raisesLimit: true, blocking: ~capture.installed.signals.open)
  let standard = StandardDescriptors()
  // The run record shows how the child ends, unless the program turned off reports on how processes end.
  capture.session.runRecord.isFollowed = capture.installed.encoded.course.count > 0
  if !capture.prepareDumpFile() { capture.session.runRecord.isFollowed = false }
  standard.giveBack()
  writing.finish()
}
