internal import CSignalSafe
internal import IntermediateDump

/// Everything the handler needs in a crash, decided and allocated at install.
///
/// Lives in memory of its own that is never freed and is reached through `pm_state()`: a Swift
/// global would be initialised lazily in debug builds and checked by the runtime at each access.
///
/// RUNS-DURING-CRASH: read and written there; made by `HandlerInstaller`.
@safe
struct HandlerState: ~Copyable {
  // MARK: Decided at install

  /// The process that installed the handler, or the copy of it that has it now; see `OwnProcess`.
  var processID: Int32
  /// The mark that a copy of the process finds wiped, and whether the kernel does that.
  let copyMark: FutexWord
  let wipesMark: Bool
  /// True in a forked child, whose report and process IDs are not those encoded at install.
  var isForkedChild = false
  /// True while there is no locked file, which the crash then makes.
  ///
  /// In a forked child, and where the next one could not be made after a crash that was survived.
  var needsFile = false
  /// True once the report ID is another than the one that was encoded at install.
  var hasNewReportID = false
  var run: RunFacts
  let limits: CaptureLimits
  /// `SystemCalls` that are not made, as bits.
  let forgone: UInt32
  /// The database and the folder of pending dumps in it, absolute, and names in the latter, all as
  /// NUL-terminated text.
  let databasePath: UnsafePointer<CChar>
  let folderPath: UnsafePointer<CChar>
  let lockedName: UnsafePointer<CChar>
  let finishedName: UnsafePointer<CChar>
  let runRecordName: UnsafePointer<CChar>
  let fifoName: UnsafePointer<CChar>
  /// Where the report ID's text begins in these names, in bytes.
  let reportIDOffset: Int
  /// The 16 bytes of the report ID.
  let reportID: UnsafeMutableRawPointer
  /// The dump, its folder, the FIFO and `/proc`, held open so that they are found after a chroot;
  /// with what they were, because a program may close them and open others under their numbers.
  var fileDescriptor: Int32
  var fileIdentity: FileIdentity
  var folderDescriptor: Int32
  var folderIdentity: FileIdentity
  var fifoDescriptor: Int32
  var fifoIdentity: FileIdentity
  var procDescriptor: Int32
  let procIdentity: FileIdentity
  /// The bound on our own time, the signal that says it is over, and the timer that sends it; 0 and
  /// -1 if there is none.
  let timeLimit: Int
  let watchdogSignal: Int32
  var timer: Int32
  /// Descriptors that hold two places in the table; closed in a crash so that /proc can be read in
  /// a process that has used them all up.
  var spareDescriptors: (Int32, Int32)
  var spareIdentity: FileIdentity
  /// What a stop signal is installed with, SIGPROF in a crash included.
  var stopAction: pm_signal_action
  /// The real-time signal that stops threads; 0 if every one was taken.
  let stopSignal: Int32
  /// Previous actions, one for each signal number; only those of `crashSignals` are meaningful.
  let previousActions: UnsafeMutablePointer<pm_signal_action>
  /// What our handler is installed with.
  var crashAction = pm_signal_action()
  /// Bit n - 1 stands for signal n: those whose handler is ours.
  let crashSignals: UInt64
  /// The signals that must reach a thread of the handler's or one that takes a dump: faults, the
  /// stop signals, the watchdog's.
  let openSignals: UInt64
  /// Where the arguments, environment and auxiliary vector begin on the main thread's stack; 0 if
  /// unknown.
  let environmentStart: UInt64
  /// The end of that mapping.
  let environmentEnd: UInt64
  /// The Swift runtime's pointer to its last fatal message, and glibc's to its last abort message.
  let fatalMessageBuffer: UInt64
  let abortMessagePointer: UInt64
  /// Where the runtimes keep each thread's task and its C++ exceptions.
  let taskFacts: pm_task_facts
  let exceptionFacts: pm_exception_facts
  /// Alternate stacks for the threads that `startHandler` finds.
  let stackOffers: StackOffers
  let controlGroup: ControlGroupFiles
  /// The dynamic linker's `struct r_debug`, and the executable's dynamic section; 0 in a static
  /// executable.
  let linkDebugAddress: UInt64
  let dynamicSection: UInt64
  let dynamicSectionSize: Int
  /// Tokens encoded at install: the first process map; what a run record says of the run; system and
  /// annotations.
  let encodedProcess: UnsafeRawPointer
  let encodedProcessCount: Int
  let encodedCourse: UnsafeRawPointer
  /// 0 where nothing is to be said of how a run ends.
  let encodedCourseCount: Int
  let encodedFacts: UnsafeRawPointer
  let encodedFactsCount: Int

  // MARK: Memory for the crash

  /// The top of the stack that capture runs on.
  let captureStackTop: UnsafeMutableRawPointer
  /// The stack for faults inside the handler.
  let faultStack: UnsafeMutableRawPointer
  let faultStackSize: Int
  /// Three, where these come back to: a section, a guarded copy, and what is between the sections.
  let landingPads: UnsafeMutablePointer<pm_landing_pad>
  let threads: ThreadTable
  let mappings: MappingTable
  /// For text of /proc and for ELF headers; `scratchSize` bytes.
  let scratch: UnsafeMutableRawPointer
  let scratchSize: Int

  /// What is written to standard error when the dump is done.
  var lastWords: LastWords

  // MARK: Shared between threads in a crash

  /// The ID of the thread that captures; 0 while none does.
  let owner: FutexWord
  /// Counts the crashes whose handling is over; threads that wait for the owner wait for the next.
  let turn: FutexWord
  /// Not 0 once the dump is finished and the process is on its way out; see `CrashEnd`.
  let ending: FutexWord
  /// Not 0 while threads are to stay stopped: the number of the stop.
  let parking: FutexWord
  /// Threads that have stopped.
  let stopped: FutexWord
  /// The count of stopped threads that the capturing thread waits for; set before it waits.
  let stopTarget: FutexWord
  /// Threads that crashed while another one captured; see `WaitingCrashes`.
  let waiting: UnsafeMutableRawPointer

  /// Threads that take a dump without a crash, and the dumps of hangs that last.
  let dumpingThreads: DumpingThreads
  let hangDumps: HangDumps

  // MARK: Belongs to the capturing thread

  var writer: IntermediateDumpWriter
  var signal: Int32 = 0
  var information: UnsafeMutableRawPointer?
  var context: UnsafeMutableRawPointer?
  var threadID: Int32 = 0
  /// Why the dump is taken; in the handler's own state always a crash.
  var request = DumpRequest()
  var fate = CrashFate.ends
  var stopCount: UInt32 = 0
  var entryTime: UInt64 = 0
  var outcome = DumpOutcome()
  /// Bit n stands for section n.
  var sectionsAbandoned: UInt64 = 0
  var sectionsBegun: UInt64 = 0
  /// The bit of the section that began last.
  var currentSection: UInt64 = 0
  /// What of the crashing thread's stack is in the dump already.
  var stackTop = WrittenStack()
  /// True once there is a file for the dump, and once it has its first tokens.
  var isPrepared = false
  /// True if no other thread can change this one's descriptors; if one has put another file in the
  /// place of the dump's; and how often the dump was begun again for that.
  var hasOwnDescriptors = false
  var hasLostFile = false
  var timesBegunAgain: UInt8 = 0
  var isBegun = false
  /// False if a fault in the handler would overwrite the frame of the crash.
  var hasFaultStack = false
  var threadsReadFromKernel: UInt64 = 0
  var threadsOmitted: UInt64 = 0
  var previousProfileAction = pm_signal_action()
  var hasProfileAction = false
  /// True once the time is over; what has not begun is left out.
  var isOutOfTime = false
  var captureTime = CaptureTime(limit: 0)
  /// What is left of it, and whether the timer runs.
  var time = WatchdogTime()
  var isTicking = false
  /// True in the last part, which has a time of its own, and once that is over too.
  var isFinishing = false
  var isOver = false
  /// How often a crash that was handed on has come back to us.
  var timesReturned: UInt32 = 0

  // MARK: Crashes that were survived

  /// Dumps after which the process went on, or may have.
  var survivedCrashes: UInt32 = 0
  /// The report ID of the last of them (16 bytes), and the name of its dump.
  let precedingReport: UnsafeMutableRawPointer
  let precedingName: UnsafeMutablePointer<CChar>
  /// Where the byte is that says what became of the process, in that dump and in the one that is
  /// being written; 0 where there is none.
  var precedingOutcomeOffset: Int64 = 0
  var outcomeOffset: Int64 = 0
  /// The thread of that crash.
  var precedingThread: Int32 = 0
  /// True once its previous handler has returned.
  var previousHandlerReturned = false
  /// The thread that called abort() in the first process of a PID namespace; 0 if none did.
  var abortingThread: Int32 = 0
  /// Where abort() lies; its size is 0 where that is not known.
  var abortStart: UInt64 = 0
  var abortSize: UInt64 = 0
  /// False where the byte's value is final.
  var isPrecedingOpen = false
  let knownFaults: KnownFaults
  /// True for a fault that has come again.
  var isRepetition = false
  /// The number of the fault that is handled; 0 for none.
  var faultNumber: UInt32 = 0

  // MARK: Swift's backtracer

  /// Bit n - 1 stands for signal n: those whose previous handler it is; none once it has run.
  var backtracerSignals: UInt64 = 0
  /// The code of the module that it is in.
  var backtracerCode: UInt64 = 0
  var backtracerCodeSize: UInt64 = 0
  /// Whether it runs after this crash.
  var isBacktraced = false
  /// The most bytes that the kernel needs to call a handler.
  var signalFrameSize: UInt64 = 0

  /// User and group that files made in a crash are given to, in root's processes with a database of
  /// another user; 0 for none.
  var filesOwner: (UInt32, UInt32) = (0, 0)

  // MARK: How the run ends

  /// True in a process whose end is to be told by the next start; no longer after a crash that may
  /// be survived, whose report is told already.
  var followsRun = false
  /// True once a signal that asks the process to end was noted.
  var hasTermination = false
  /// The run record beside the locked file, open for writing.
  var recordDescriptor: Int32 = -1
  var recordIdentity = FileIdentity(of: -1)
  /// The page of the run record that shows others that this process lives, and whether the run
  /// record of a file that is made later gets one too.
  var recordMapping = RecordMapping()
  var mapsRecords = false
}

extension HandlerState {
  /// What a thread that crashed must get, which waits or ends: faults.
  ///
  /// No stop signal: a small alternate stack has no room for one.
  var faultSignals: UInt64 {
    @_noLocks get {
      openSignals
        & ~(bit(ThreadStopper.profileSignal) | bit(stopSignal) | bit(watchdogSignal))
    }
  }

  /// What the capturing thread must get: faults and the watchdog's signal.
  var captureSignals: UInt64 { @_noLocks get { faultSignals | bit(watchdogSignal) } }

  /// None for 0, which is no signal.
  @_noLocks
  private func bit(_ signal: Int32) -> UInt64 {
    signal == 0 ? 0 : 1 &<< UInt64(truncatingIfNeeded: signal &- 1)
  }
}
