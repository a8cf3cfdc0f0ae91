internal import CSignalSafe

/// State that all threads and dumps of the process share, and that remains from one crash to the next.
///
/// Any thread may change the `FutexWord` properties, and its own entries in `foundThreads`, `waiting`, `dumpingThreads`,
/// `hangDumps`, `stackOffers` and `knownFaults`. A thread whose previous handler returns, or calls `exit`, may change
/// `survived`; if the handler returns, also `previousActions`. Only the capturing thread, or a thread that stops other
/// threads, changes the other fields; in a forked child, `becomeOwnProcess` also changes them.
///
/// RUNS-DURING-CRASH.
@safe
struct Shared: ~Copyable {
  /// The ID of the capturing thread, or of a thread that must exclude captures, for example while it stops other
  /// threads; 0 if there is none.
  let capturingThread: FutexWord
  /// The address of the word that the kernel sets to 0 when the capturing thread ends; 0 if it is not known.
  var capturingThreadPlace: UInt64 = 0
  /// A number that changes when a thread's turn to capture ends or Swift's backtracer starts.
  ///
  /// Threads that wait for their turn to capture wait until this number changes.
  let turn: FutexWord
  /// A value other than 0 means that the dump is finished, and that the process is ending or Swift's backtracer runs;
  /// see `Ending`.
  let ending: FutexWord
  /// The number of watchdog ticks that the capturing thread has left; each change shows waiting threads that the
  /// capture continues.
  let ticksLeft: FutexWord
  /// The word that the kernel sets to 0 in a forked child; see `CopyMark`.
  let copyMark: FutexWord
  /// True if the kernel sets `copyMark` to 0 in a forked child, as it does since Linux 4.14.
  let wipesMark: Bool
  var stops: Stops
  /// The threads that a dump has found; in the stop handler, a thread looks itself up in this table.
  let foundThreads: ThreadTable
  /// The threads that crashed while another thread was capturing, each with the context of its crash.
  ///
  /// The capturing thread sends these threads no stop signal, because they already wait, and a small alternate stack
  /// may have no room for a second signal frame. So a waiting thread blocks the stop signals, and this table holds the
  /// data that the stop handler would have stored. The table has as many entries as the table of threads.
  let waiting: ThreadEntries
  /// The threads that take a dump for a reason other than a crash, each with the argument of its `Capture`.
  ///
  /// A fault in a section of such a dump is not a crash of the program, but the fault also reaches the crash handler.
  /// The handler finds the section's recovery point through this table. A thread looks up only its own entry, so no
  /// state is used after it was freed.
  let dumpingThreads: ThreadEntries
  /// A signal that was sent to the capturing thread during its dump, and is stored until the dump is finished.
  let postponed: PostponedSignal
  /// The dumps of hangs in progress.
  let hangDumps: HangDumps
  /// The session for dumps that `postmortem capture` requests; set at launch, and used by one thread at a time.
  ///
  /// The pointer is the argument from which that session's `Capture` is created.
  var requestedDump: UnsafeMutableRawPointer?
  /// Alternate stacks for the threads that `startHandler` finds.
  let stackOffers: StackOffers
  var process: ProcessFacts
  let previousActions: PreviousActions
  var backtracer: Backtracer
  var survived: SurvivedCrashes
  let knownFaults: KnownFaults
  /// How many times a signal was handled again after `restoreAndReraise` had queued the signal or let its instruction
  /// run again.
  ///
  /// If the number exceeds a limit, the handler ends the process in another way (`CrashEnd.swift`). Each dump of a
  /// crash resets the number to 0.
  var timesReraised: UInt32 = 0
  /// The thread on which abort() may have raised SIGABRT in the first process of a PID namespace; otherwise 0
  /// (`noteAbort`).
  var abortingThread: Int32 = 0
  var spares: SpareDescriptors

  /// True if this state belongs to the calling process.
  ///
  /// The value is false in a forked child that has not called `becomeOwnProcess`, and in a process that runs in another
  /// process's memory.
  var isOwnProcess: Bool {
    @_noLocks get {
      guard copyMark.value == CopyMark.own else { return false }
      // If a seccomp filter refuses this system call, the state is assumed to be this process's own.
      let processID = pm_getpid()
      return processID < 0 || processID == process.id
    }
  }

  /// True for a signal that a thread of this process sent to a thread of this process.
  @_noLocks
  func hasSent(_ signal: SignalInformation?) -> Bool {
    guard let signal, copyMark.value == CopyMark.own else { return false }
    return signal.code == SI_TKILL && signal.sender == process.id
  }

  /// Makes the calling thread the capturing thread, if there is none; returns the previous capturing thread or 0.
  @inline(never) @_noLocks
  mutating func beginTurn(_ threadID: Int32) -> UInt32 {
    let thread = UInt32(bitPattern: threadID)
    let other = capturingThread.exchange(expected: 0, desired: thread)
    if other == 0 { capturingThreadPlace = pm_thread_id_place(thread) }
    return other
  }

  /// True if the capturing thread no longer exists, because a seccomp filter has ended it.
  var hasLostThread: Bool {
    @_noLocks get {
      let (thread, place) = (capturingThread.value, capturingThreadPlace)
      return thread != 0 && place != 0
        && (!pm_is_readable(place)
          || UInt32(truncatingIfNeeded: pm_load_word(place)) != thread)
        && capturingThread.value == thread
    }
  }

  /// Ends the capturing thread's turn, and wakes the threads that wait for their turn.
  @_noLocks
  mutating func endTurn() {
    leaveTurn()
    wakeWaiting()
  }

  @_noLocks
  mutating func leaveTurn() {
    capturingThreadPlace = 0
    capturingThread.store(0)
  }

  /// Wakes the threads that wait until the capturing thread is done.
  @_noLocks
  func wakeWaiting() {
    turn.add(1)
    turn.wakeAll()
  }

  // The values of `ending`; 0 means that the process may continue.
  enum Ending {
    /// The handler has finished, and the kernel ends the process.
    static var now: UInt32 { @_noLocks get { 1 } }
    /// Swift's backtracer runs; after it returns, the process ends, or the handler is prepared for the next crash.
    static var backtracing: UInt32 { @_noLocks get { 2 } }
  }

  // The values of `copyMark`, which shows whether this state belongs to this process or is a copy in a forked child.
  // While a thread adapts this state to a forked child, the mark is the thread's ID combined with `inWork`.
  enum CopyMark {
    static var wiped: UInt32 { @_noLocks get { 0 } }
    static var own: UInt32 { @_noLocks get { 1 } }
    static var inWork: UInt32 { @_noLocks get { 1 &<< 31 } }
  }

  /// State that the thread that stops other threads shares with them; only one thread at a time stops others.
  struct Stops {
    /// While threads must stay stopped, the number of this stop, which is even and differs from that of the previous
    /// stop; otherwise 0.
    ///
    /// The lowest bit is also set while the stopped threads answer Swift's backtracer (`callStandIns`).
    let parking: FutexWord
    /// The number of threads that have stopped.
    let stopped: FutexWord
    /// The number of stopped threads for which the capturing thread waits; set before the capturing thread waits.
    let target: FutexWord
    /// True if a stop signal may still be pending for a thread that has not stopped.
    var isPending = false
    /// The value of `parking` for the last stop.
    var number: UInt32 = 0
    /// The previous action of SIGPROF, which is replaced while a dump stops threads with this signal.
    ///
    /// `library` is the same for SIGSETXID.
    var profile = TakenAction()
    var library = TakenAction()

    /// Counts the calling thread as stopped, and wakes the thread that waits for all threads to stop.
    ///
    /// Only the last thread that stops wakes the waiting thread, because a thousand wake-ups would take longer than
    /// the stops.
    @_noLocks
    func noteStop() {
      if stopped.add(1) >= target.value { stopped.wakeAll() }
    }

    @_noLocks
    func resume() {
      parking.store(0)
      parking.wakeAll()
    }
  }

  /// The previous action of a signal for which the stop handler is installed.
  struct TakenAction {
    private var previous = pm_signal_action()
    private(set) var isTaken = false

    /// Installs the stop handler for a signal, unless this was already done; returns false if there is no stop
    /// handler or the kernel refuses.
    @inline(never) @_noLocks
    mutating func take(_ signal: Int32, for signals: InstalledSignals) -> Bool {
      if isTaken { return true }
      // If the program used every candidate for the stop signal, there is no stop handler, and the default action of
      // SIGPROF or SIGSETXID would end the process.
      guard signals.stop != 0 else { return false }
      var action = signals.stopAction
      isTaken = unsafe pm_sigaction(signal, &action, &previous) == 0
      return isTaken
    }

    /// Restores the previous action, unless the program has set another one meanwhile.
    ///
    /// - Parameter isPending: true if the signal may be pending for a thread that has not stopped. The signal is then
    ///   ignored for a moment, which discards pending signals: with the default action, it would end the process.
    @inline(never) @_noLocks
    mutating func giveBack(_ signal: Int32, _ signals: InstalledSignals, isPending: Bool) {
      guard isTaken else { return }
      isTaken = false
      guard signals.isOurs(signal, signals.stopAction) else { return }
      var ignore = pm_signal_action()
      ignore.handler = SIG_IGN
      if isPending { SignalAction.set(signal, ignore) }
      SignalAction.set(signal, previous)
    }
  }

  /// Facts about the process that owns this state: the process that installed the handler, or a forked child.
  struct ProcessFacts {
    var id: Int32
    /// True in a forked child, whose report ID and process ID differ from those encoded at launch.
    var isForkedChild = false
    var run: RunIdentity
  }

  /// Facts about Swift's backtracer, if it is a previous handler.
  struct Backtracer {
    /// The signals whose previous handler is the backtracer; none after the backtracer has run.
    ///
    /// Bit n - 1 is signal n.
    var signals: UInt64
    /// The start and the size of the range of code that contains the backtracer's handler.
    let code: UInt64
    let codeSize: UInt64
  }

  /// Facts about the last crash that left a dump and that the process survived or may have survived, and the number of
  /// such crashes.
  @safe
  struct SurvivedCrashes {
    var count: UInt32 = 0
    /// The report ID of the last survived crash (16 bytes), and the name of that crash's dump.
    let report: UnsafeMutableRawPointer
    let name: UnsafeMutablePointer<CChar>
    /// The offset, in that dump, of the byte `survivalOutcome`; 0 if the dump has no such byte.
    var outcomeOffset: Int64 = 0
    /// The ID of the thread that had the last survived crash.
    var thread: Int32 = 0
    /// The kernel's signal frame of that crash, and two registers from that frame, which identify the crash.
    var context: UInt64 = 0
    var instructionPointer: UInt64 = 0
    var stackPointer: UInt64 = 0
    /// True after the previous handler that was called for that crash has returned.
    var handlerHasReturned = false
    /// True while the handler may still change the byte `survivalOutcome`, because it is not known yet how that crash
    /// ended.
    var isOutcomeOpen = false
  }

  /// Descriptors that only reserve three slots in the descriptor table.
  ///
  /// In a crash, the handler closes these descriptors, so that it can open files in /proc even if the process has
  /// used up all others.
  struct SpareDescriptors {
    var first: HeldFile
    var second: HeldFile
    var third: HeldFile
  }
}

/// The facts by which a run record identifies its process.
///
/// `startHandler` reads these facts. A forked child has different facts, and reads them when it creates its run record.
@safe
struct RunIdentity {
  var startTime: UInt64
  var stackStart: UInt64
  var processNamespace: UInt64
  var timeNamespace: UInt64
  let launchTime: Int64
  let bootID: UnsafeRawPointer
  let bootIDCount: Int
  /// False in a forked child until the child has read the facts about itself.
  var isOfThisProcess = true
}
