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
  /// `Shared.threads`, or a separate table for a `LiveDump` that stops no threads.
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
