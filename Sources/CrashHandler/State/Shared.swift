internal import CSignalSafe

/// State that all threads and dumps of the process share, and that is kept from crash to crash.
///
/// Any thread changes the futex words; only the capturing thread, or one that stops threads, changes the rest.
///
/// RUNS-DURING-CRASH.
@safe
struct Shared: ~Copyable {
  /// The ID of the capturing thread, or of one that stops threads; 0 if there is none.
  let capturingThread: FutexWord
  /// Counts the crashes that were handled; threads that wait for their turn wait for it to change.
  let turn: FutexWord
  /// Not 0 once the dump is finished and the process ends; see `Ending`.
  let ending: FutexWord
  /// The ticks that the capturing thread has left; waiting threads see by its changes that the dump goes on.
  let ticksLeft: FutexWord
  /// The word that the kernel sets to 0 in a forked child; see `CopyMark`.
  let copyMark: FutexWord
  /// True if the kernel sets `copyMark` to 0 in a forked child.
  let wipesMark: Bool
  var stops: Stops
  /// The table in which stopped threads look themselves up.
  let threads: ThreadTable
  /// The threads that crashed while another thread captured.
  let waiting: WaitingCrashes
  /// Threads that take a dump without a crash, and the dumps of hangs in progress.
  let dumpingThreads: DumpingThreads
  let hangDumps: HangDumps
  /// The session for dumps that `postmortem capture` requests, which one thread uses at a time; set at launch.
  ///
  /// The argument of its `Capture`.
  var requestedDump: UnsafeMutableRawPointer?
  /// Alternate stacks for the threads that `startHandler` finds.
  let stackOffers: StackOffers
  var process: ProcessFacts
  let previousActions: PreviousActions
  var backtracer: Backtracer
  var survived: SurvivedCrashes
  let knownFaults: KnownFaults
  /// The number of times that a signal occurred again after `restoreAndReraise` had returned to it or queued it;
  /// reset to 0 with each dump.
  var timesReturned: UInt32 = 0
  /// The thread that called abort() in the first process of a PID namespace; 0 if none did.
  var abortingThread: Int32 = 0
  var spares: SpareDescriptors

  /// True if this state is the calling process's: false in a forked child that has not called `becomeOwnProcess`, and
  /// in a process that runs in another process's memory.
  var isOwnProcess: Bool {
    @_noLocks get {
      guard copyMark.value == CopyMark.own else { return false }
      // If a filter refuses the call, processes cannot be distinguished.
      let processID = pm_getpid()
      return processID < 0 || processID == process.id
    }
  }

  /// True for a signal that a thread of this process sent to one thread.
  @_noLocks
  func hasSent(_ signal: SignalInformation?) -> Bool {
    guard let signal, copyMark.value == CopyMark.own else { return false }
    return signal.code == SI_TKILL && signal.sender == process.id
  }

  /// Ends the capturing thread's turn, and wakes the threads that wait for theirs.
  @_noLocks
  func endTurn() {
    capturingThread.store(0)
    wakeWaiting()
  }

  /// Wakes the threads that wait for the capturing one.
  @_noLocks
  func wakeWaiting() {
    turn.add(1)
    turn.wakeAll()
  }

  // Values of `ending`; 0 as long as the process may live.
  enum Ending {
    /// The handler is done, and the kernel ends the process.
    static var now: UInt32 { @_noLocks get { 1 } }
    /// Swift's backtracer runs; when it returns, the process ends or is made ready for the next crash.
    static var afterBacktrace: UInt32 { @_noLocks get { 2 } }
  }

  // Values of `copyMark`; while a thread makes the copy its own, that thread's ID with the last bit.
  enum CopyMark {
    static var wiped: UInt32 { @_noLocks get { 0 } }
    static var own: UInt32 { @_noLocks get { 1 } }
    static var inWork: UInt32 { @_noLocks get { 1 &<< 31 } }
  }

  /// Stopping the threads, which one thread does at a time.
  struct Stops {
    /// Not 0 while threads must stay stopped: an even number that each stop increases.
    ///
    /// The last bit is set while they answer Swift's backtracer (`callStandIns`).
    let parking: FutexWord
    /// Threads that have stopped.
    let stopped: FutexWord
    /// The count of stopped threads that the stopping one waits for; set before it waits.
    let target: FutexWord
    /// The number of the last stop.
    var number: UInt32 = 0
    /// The previous actions of SIGPROF and SIGSETXID, which stop threads in a crash.
    var profile = TakenAction()
    var library = TakenAction()

    /// Counts the calling thread as stopped, and wakes the thread that waits for all to stop.
    ///
    /// Only the last one wakes it, because a thousand wake-ups would cost more than the stops.
    @_noLocks
    func noteStop() {
      if stopped.add(1) >= target.value { stopped.wakeAll() }
    }
  }

  /// The previous action of a signal, while the stop handler is installed for it.
  struct TakenAction {
    private var previous = pm_signal_action()
    private(set) var isTaken = false

    @_noLocks
    init() {}

    /// Installs the stop handler once; false if there is none or the kernel refuses.
    @inline(never) @_noLocks
    mutating func take(_ signal: Int32, for signals: InstalledSignals) -> Bool {
      if isTaken { return true }
      // If the program uses every real-time signal, there is no stop handler, and the signal's default action would
      // end the process.
      guard signals.stop != 0 else { return false }
      isTaken = signals.installStopHandler(signal, previous: &previous)
      return isTaken
    }

    /// Restores the previous action.
    ///
    /// A stop signal still pending on a thread that blocks it would kill the process under the old action if that is
    /// the default. Ignoring a signal discards pending ones.
    @inline(never) @_noLocks
    mutating func giveBack(_ signal: Int32) {
      guard isTaken else { return }
      var ignore = pm_signal_action()
      ignore.handler = SIG_IGN
      SignalAction.set(signal, ignore)
      SignalAction.set(signal, previous)
      isTaken = false
    }
  }

  /// The process that installed the handler, or the forked child that uses this copy of the state.
  struct ProcessFacts {
    var id: Int32
    /// True in a forked child, whose report ID and process ID differ from those encoded at launch.
    var isForkedChild = false
    var run: RunFacts
  }

  /// Swift's backtracer, where it is a previous handler.
  struct Backtracer {
    /// The signals whose previous handler is the backtracer; none once it has run.
    ///
    /// Bit n - 1 is signal n.
    var signals: UInt64
    /// The range of code that contains it.
    let code: UInt64
    let codeSize: UInt64
  }

  /// The crashes with a dump that the process survived, or may have survived.
  @safe
  struct SurvivedCrashes {
    var count: UInt32 = 0
    /// The report ID of the last of them (16 bytes), and the name of its dump.
    let report: UnsafeMutableRawPointer
    let name: UnsafeMutablePointer<CChar>
    /// Offset in that dump of the byte `survivalOutcome`; 0 if it has none.
    var outcomeOffset: Int64 = 0
    /// The thread of that crash.
    var thread: Int32 = 0
    /// The kernel's signal frame of that crash, and two registers from it, by which the crash is recognized.
    var context: UInt64 = 0
    var instructionPointer: UInt64 = 0
    var stackPointer: UInt64 = 0
    /// True once its previous handler has returned.
    var handlerHasReturned = false
    /// True while that byte may still change: its crash's outcome is not final.
    var isOpen = false
  }

  /// Placeholder descriptors, which reserve three slots of the descriptor table.
  ///
  /// A crash closes them, so that it can read /proc even if the process has used up all descriptors.
  struct SpareDescriptors {
    let first: HeldFile
    let second: HeldFile
    let third: HeldFile

    @_noLocks
    init(first: HeldFile, second: HeldFile, third: HeldFile) {
      self.first = first
      self.second = second
      self.third = third
    }
  }
}
