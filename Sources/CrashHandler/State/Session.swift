internal import CSignalSafe
internal import IntermediateDump

/// The state of one dump: its reason, its file, its progress, and the memory that it needs.
///
/// The handler has one session for crashes, which is reused for the next crash if the process survives, and one session
/// for dumps that `postmortem capture` requests. Each dump that the program requests gets a separate session.
///
/// RUNS-DURING-CRASH, on the thread that takes the dump.
@safe
struct Session: ~Copyable {
  let installed: UnsafeMutablePointer<Installed>
  let shared: UnsafeMutablePointer<Shared>

  var exception = CapturedException()
  var request = DumpRequest()
  var names: DumpNames
  var files: SessionFiles
  var runRecord = SessionRunRecord()
  let writerPlace: UnsafeMutablePointer<IntermediateDumpWriter>
  var progress = Progress()
  var time = CaptureClock()
  var result = DumpResult()
  var counts = Counts()
  /// True if faults inside the handler can be handled without overwriting the crash's signal frame.
  ///
  /// In a crash, this is true only once a separate stack is set (`setFaultStack`).
  var hasFaultStack = false

  /// The top of the stack on which the dump is taken.
  let stackTop: UnsafeMutableRawPointer
  let recoveryPoints: RecoveryPoints
  /// `Shared.foundThreads`, or a separate table for a `LiveDump` that stops no threads.
  let threads: ThreadTable
  let mappings: MappingTable
  let scratch: Scratch
  /// The page cache, which is filled after the threads have been stopped.
  let pages: PageCache
  var resident: ResidentPages

  /// True for a crash that ends the process without calling a previous handler.
  var endsWithoutHandler: Bool {
    @_noLocks get { request.isCrash && exception.outcome.isEnd && !exception.isBacktraced }
  }

  /// Clears what an earlier dump has left; called when a dump begins.
  @_noLocks
  mutating func begin() {
    progress = Progress()
    result = DumpResult()
    time.phase = .sections
    time.isTicking = false
    hasFaultStack = false
    pages.removeAll()
  }

  /// Clears what an earlier dump has left in the tables, the writer and the counts of threads.
  @_noLocks
  mutating func reset() {
    recoveryPoints.disarm()
    threads.removeAll()
    mappings.removeAll()
    unsafe writerPlace.pointee.restart(on: -1)
    counts.threadsReadFromKernel = 0
    counts.threadsOmitted = 0
    counts.smallStacks = 0
    (files.hasOwnDescriptors, files.unclosed.count) = (false, 0)
  }

  /// Counts what the dump contains only in part or not at all: threads, and facts that the kernel did not show.
  struct Counts {
    var threadsReadFromKernel: UInt64 = 0
    var threadsOmitted: UInt64 = 0
    /// The number of threads that may need an entry stack to handle a stop signal.
    var smallStacks = 0
    /// The maximum number of threads for which the available memory is enough.
    var threadLimit = Int.max
    /// The facts that the kernel did not show, as bits of `NotShown`.
    var notShown: UInt64 = 0

    @_noLocks
    mutating func set(_ part: NotShown, isShown: Bool) {
      notShown = isShown ? notShown & ~part.bit : notShown | part.bit
    }
  }
}

/// The dump's file, and the other files and directories that are needed to write it.
///
/// The files stay open, so that the handler can still reach them after the program has called chroot(2). The identity
/// of each file is stored too, because the program may close the descriptor and open another file with the same number.
///
/// RUNS-DURING-CRASH.
struct SessionFiles {
  var dump: HeldFile
  /// The directory of pending dumps.
  var directory: HeldFile
  /// The read end of the FIFO; as long as it is open, other processes know that the dump's owner is alive.
  var fifo: HeldFile
  /// `/proc`.
  var proc: HeldFile
  /// True while there is no locked file; the next dump must then create one.
  ///
  /// No locked file exists in a forked child (except in that of daemon(3)), for a requested dump, after a survived crash
  /// if the next file could not be created, and after `exit` has removed the file.
  var isMissing = false
  /// True if the thread that takes the dump has its own descriptor table, so that no other thread can change its
  /// descriptors.
  var hasOwnDescriptors = false
  /// With such a table, the descriptors of files that were read and are closed later.
  var unclosed = pm_unclosed()
}

/// The NUL-terminated file names of a dump, its run record and its FIFO, each of the form "<identifier>@<uuid>…".
///
/// RUNS-DURING-CRASH.
@safe
struct DumpNames {
  /// The number of bytes of a report ID as text, which is a UUID.
  static var reportIDLength: Int { @_noLocks get { 36 } }

  let locked: UnsafePointer<CChar>
  let finished: UnsafePointer<CChar>
  let runRecord: UnsafePointer<CChar>
  let fifo: UnsafePointer<CChar>
  /// The offset in bytes of the report ID's text in each of these names.
  let reportIDOffset: Int
  /// The report ID whose text is in these names, as 16 bytes.
  let reportID: UnsafeMutableRawPointer
  /// True if the report ID differs from the one that was encoded at launch.
  var areNew = false
}

/// What the handler keeps about this process's run record: the open file, its mapping, whether the process notes its
/// end there, and the signal that asked it to end.
///
/// RUNS-DURING-CRASH.
struct SessionRunRecord {
  /// True if the process notes in the run record how it ends, so that a report can be created about that end.
  ///
  /// The value is false after a crash that the process may survive, because that crash has its own report.
  var isFollowed = false
  /// The signal that asked the process to end, if one was noted; otherwise 0.
  var termination: Int32 = 0
  /// The run record, open for writing.
  var file = HeldFile()
  /// The mapped page of the record, which shows other processes that this process is alive.
  var mapping = RecordMapping()

  @_noLocks
  init() {}
}

/// The outcome of the dump.
///
/// RUNS-DURING-CRASH.
struct DumpResult {
  /// True once the dump has a file to write to.
  var hasFile = false
  /// True once every byte of the dump, including the end mark, is written.
  var isComplete = false
  /// True once the file has its final name, without `.locked`.
  var isRenamed = false
  /// The errno of the first failure; 0 if nothing failed.
  var failure: Int32 = 0

  @_noLocks
  init() {}
}
