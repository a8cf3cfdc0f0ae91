internal import CSignalSafe

/// Tells the handler's own process from a copy of it, and from another one that runs in its memory.
///
/// A copy has memory of its own, where the kernel has wiped the mark: also one that no atfork handler
/// has seen, made by `_Fork` or a raw clone, or in which a handler crashed that was registered
/// before ours; and also the first process of a PID namespace whose parent has the same number. It
/// becomes a process of the handler's when it first needs the handler. A child of vfork, and every
/// other one that shares the memory, finds the mark as it was and another process ID.
///
/// On kernels that wipe nothing (before 4.14) a copy is known by our atfork handler alone.
///
/// RUNS-DURING-CRASH. Source: madvise(2), MADV_WIPEONFORK.
@safe
struct OwnProcess {
  // Values of the mark; while a thread makes the copy its own, that thread's ID with the last bit.
  private static var wiped: UInt32 { 0 }
  static var whole: UInt32 { @_noLocks get { 1 } }
  private static var inWork: UInt32 { 1 &<< 31 }

  private let capture: Capture

  @_noLocks
  init(_ capture: Capture) {
    self.capture = capture
  }

  /// True in the process that the state speaks of; false in a copy that is not its own yet.
  var isCurrent: Bool {
    @_noLocks get {
      guard capture.shared.copyMark.value == OwnProcess.whole else { return false }
      // Under a filter that refuses the call nobody can be told apart.
      let processID = pm_getpid()
      return processID < 0 || processID == capture.shared.process.id
    }
  }

  /// True for a signal that a thread of the process which the state speaks of has sent to one thread,
  /// and that has not come to a copy.
  @_noLocks
  func hasSent(_ signal: SignalInformation?) -> Bool {
    guard let signal, capture.shared.copyMark.value == OwnProcess.whole else { return false }
    return signal.code == SI_TKILL && signal.sender == capture.shared.process.id
  }

  /// Makes a copy its own; true in the process that the state then speaks of.
  ///
  /// False in a process that runs in another one's memory. Of several threads of a copy one does
  /// the work and the others wait, ten seconds at most.
  @_noLocks
  func become() -> Bool {
    let mark = capture.shared.copyMark
    let worker = OwnProcess.inWork | UInt32(bitPattern: pm_gettid())
    var rounds = 0
    while rounds < 100 {
      let found = mark.exchange(expected: OwnProcess.wiped, desired: worker)
      if found == OwnProcess.wiped {
        leaveParent()
        mark.store(OwnProcess.whole)
        mark.wakeAll()
        return true
      }
      if found == OwnProcess.whole { return isCurrent }
      // A fault in that work comes back to the thread that does it.
      if found == worker { return false }
      mark.wait(while: found, milliseconds: 100)
      rounds &+= 1
    }
    return false
  }

  /// Called by our atfork handler: the process is a copy also where the kernel does not tell.
  fileprivate func becomeForked() {
    if !capture.shared.wipesMark { capture.shared.copyMark.store(OwnProcess.wiped) }
    _ = become()
  }

  /// Lets go of what a copy shares with its parent: the dump file, whose offset the two would share,
  /// and the FIFO, whose open end says that the parent lives.
  ///
  /// A crash makes files of its own. Under the rules of crash code also at a fork, because a child of
  /// a process with threads may do no more.
  private func leaveParent() {
    // Not if the program had closed them: the numbers may be somebody else's.
    DumpFile(capture).close()
    if capture.isSame(capture.session.files.fifo) {
      _ = pm_close(capture.session.files.fifo.descriptor)
    }
    capture.session.files.fifo.descriptor = -1
    if capture.isSame(capture.session.runRecord.file) {
      _ = pm_close(capture.session.runRecord.file.descriptor)
    }
    capture.session.runRecord.file.descriptor = -1
    // The kernel has kept the page from the child.
    capture.session.runRecord.mapping = RecordMapping()
    capture.session.runRecord.isFollowed = false
    capture.session.runRecord.hasTermination = false
    capture.shared.process.isForkedChild = true
    capture.session.files.isMissing = true
    capture.shared.process.run.isOfThisProcess = false
    // Another thread of the parent may have been capturing; it is not in the child.
    Rearming(capture).reset()
    ThreadStopper(capture).releaseAll()
    capture.shared.waiting.removeAll()
    pm_forget_entry_stacks()
    capture.shared.dumpingThreads.removeAll()
    leaveHangDumps()
    capture.shared.capturingThread.store(0)
    capture.shared.ending.store(0)
    capture.shared.survived.count = 0
    capture.shared.knownFaults.removeAll()
    capture.shared.abortingThread = 0
    // The thread has another ID here.
    pm_tell_own_stack()
    // Timers are not inherited.
    if capture.mayMake(CallBit.threads) {
      capture.session.time.timer = WatchdogTimer.make(signal: capture.installed.signals.watchdog)
    }
    capture.shared.process.id = pm_getpid()
  }

  /// Closes the descriptors of the parent's hang dumps; the files are the parent's.
  private func leaveHangDumps() {
    let dumps = capture.shared.hangDumps
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
  OwnProcess(capture).becomeForked()
}

/// Makes a forked child the program that goes on, as after daemon(3), whose parent exits: it gets what
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
  guard OwnProcess(capture).become() && capture.shared.process.isForkedChild,
    capture.session.files.isMissing && capture.mayMake(CallBit.files)
  else { return }
  let writing = OwnWriting(capture, blocking: ~capture.installed.signals.open)
  let places = StandardPlaces()
  capture.session.runRecord.isFollowed = capture.installed.encoded.course.count > 0
  if !DumpFile(capture).prepare() { capture.session.runRecord.isFollowed = false }
  places.giveBack()
  writing.finish(hasFailed: true)
}

/// Keeps descriptors 0 to 2 from becoming files of ours: what the program then prints to "standard
/// error" would go into the dump.
///
/// RUNS-DURING-CRASH. Source: `StandardDescriptors`, which does it for `startHandler`.
private struct StandardPlaces {
  /// The ones taken, by bits.
  private let taken: UInt32

  @_noLocks
  init() {
    let path = unsafe ProcReader.characters("/dev/null")
    var taken: UInt32 = 0
    while true {
      let descriptor = unsafe pm_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { break }
      guard descriptor <= 2 else {
        _ = pm_close(Int32(truncatingIfNeeded: descriptor))
        break
      }
      taken |= 1 &<< UInt32(truncatingIfNeeded: descriptor)
    }
    self.taken = taken
  }

  fileprivate func giveBack() {
    var descriptor: Int32 = 0
    while descriptor <= 2 {
      if taken &>> UInt32(bitPattern: descriptor) & 1 == 1 { _ = pm_close(descriptor) }
      descriptor &+= 1
    }
  }
}
