internal import CSignalSafe
internal import IntermediateDump

/// One dump: its reason, its file, its progress, and the memory that it needs.
///
/// The handler has one for crashes, used again by the next where one is survived. Each dump without
/// a crash makes its own.
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
  var writer: IntermediateDumpWriter
  var progress = Progress()
  var time = CaptureClock()
  var outcome = DumpOutcome()
  var counts = Counts()
  /// False if a fault in the handler would overwrite the frame of the crash.
  var hasFaultStack = false

  /// The top of the stack that the dump is taken on.
  let stackTop: UnsafeMutableRawPointer
  let landingPads: LandingPads
  /// `Shared.threads`, or a table of its own for a dump that stops no threads.
  let threads: ThreadTable
  let mappings: MappingTable
  let scratch: Scratch
  /// Filled once the threads stand still.
  let pages: PageCache
  var resident: ResidentPages

  @_noLocks
  init(
    installed: UnsafeMutablePointer<Installed>, shared: UnsafeMutablePointer<Shared>,
    names: DumpNames, files: SessionFiles, writer: consuming IntermediateDumpWriter,
    stackTop: UnsafeMutableRawPointer, landingPads: LandingPads,
    threads: ThreadTable, mappings: MappingTable, scratch: Scratch, pages: PageCache,
    resident: ResidentPages
  ) {
    unsafe self.installed = installed
    unsafe self.shared = shared
    self.names = names
    self.files = files
    self.writer = writer
    unsafe self.stackTop = stackTop
    self.landingPads = landingPads
    self.threads = threads
    self.mappings = mappings
    self.scratch = scratch
    self.pages = pages
    self.resident = resident
  }

  /// True for a crash that ends the process without a handler that was there before ours.
  var isEnd: Bool {
    @_noLocks get { request.isCrash && exception.fate.isEnd && !exception.isBacktraced }
  }

  /// Threads that the dump has in a lesser way, or not at all.
  struct Counts {
    var threadsReadFromKernel: UInt64 = 0
    var threadsOmitted: UInt64 = 0
    /// Threads that were asked to stop and may take an entry stack for it.
    var smallStacks = 0
    /// Threads that there is memory for.
    var threadLimit = Int.max
    /// Bits of `NotShown`.
    var notShown: UInt64 = 0

    @_noLocks
    mutating func set(_ part: NotShown, isShown: Bool) {
      notShown = isShown ? notShown & ~part.bit : notShown | part.bit
    }
  }
}

/// The names of a dump, its run record and FIFO, NUL-terminated, each "<identifier>@<uuid>…".
///
/// RUNS-DURING-CRASH.
@safe
struct DumpNames {
  let locked: UnsafePointer<CChar>
  let finished: UnsafePointer<CChar>
  let runRecord: UnsafePointer<CChar>
  let fifo: UnsafePointer<CChar>
  /// Offset of the report ID's text in these names, in bytes.
  let reportIDOffset: Int
  /// The 16 bytes of the report ID.
  let reportID: UnsafeMutableRawPointer
  /// True once the report ID is another than the one that was encoded at launch.
  var areNew = false
}

/// The dump's file and the directories that it needs, held open so that a chroot does not matter;
/// each with its identity, because a program may close it and open another under its number.
///
/// RUNS-DURING-CRASH.
struct SessionFiles {
  var dump: HeldFile
  /// The directory of pending dumps.
  var directory: HeldFile
  /// Read end of the FIFO beside the dump.
  var fifo: HeldFile
  /// `/proc`.
  var proc: HeldFile
  /// True while there is no locked file, which the dump then makes.
  ///
  /// In a forked child, where the next one could not be made after a crash that was survived, and
  /// in a dump without a crash.
  var isMissing = false
  /// True if no other thread can change this one's descriptors.
  var hasOwnDescriptors = false
}

/// The run record beside the locked file.
///
/// RUNS-DURING-CRASH.
struct SessionRunRecord {
  /// True in a process whose end is to be told by the next start; no longer after a crash that may
  /// be survived, whose report is told already.
  var isFollowed = false
  /// True once a signal that asks the process to end was noted.
  var hasTermination = false
  /// Open for writing.
  var file = HeldFile()
  /// The page of it that shows others that this process lives.
  var mapping = RecordMapping()
}

/// The progress of a dump.
///
/// RUNS-DURING-CRASH.
struct Progress {
  /// The state of the dump's file.
  enum File {
    /// No file is known to be ours yet.
    case none
    /// There is one, without the first tokens.
    case open
    case begun
    /// Another thread has put another file in its place.
    case lost
  }

  var file = File.none
  /// Times that the dump was begun again because it had lost its file.
  var timesBegunAgain: UInt8 = 0
  /// Bit n stands for section n.
  var begun: UInt64 = 0
  var abandoned: UInt64 = 0
  /// The bit of the section that began last.
  var current: UInt64 = 0
  /// The part of the crashing thread's stack that is in the dump already.
  var writtenStack = WrittenStack()

  @_noLocks
  init() {}

  /// Forgets all but the sections that write nothing.
  @_noLocks
  mutating func beginAgain() {
    timesBegunAgain &+= 1
    file = .none
    writtenStack = WrittenStack()
    let kept = Section.stopThreads.bit | Section.readMappings.bit
    begun &= kept
    abandoned &= kept
  }

  var hasLostFile: Bool {
    @_noLocks get {
      if case .lost = file { true } else { false }
    }
  }
}

/// The outcome of the dump.
///
/// RUNS-DURING-CRASH.
struct DumpOutcome {
  /// True once a file was there to write to.
  var hasFile = false
  /// True once every byte of it, the end mark included, was written.
  var isComplete = false
  /// True once the name without `.locked` is its own.
  var isRenamed = false
  /// The errno of what failed first; 0 if nothing did.
  var failure: Int32 = 0

  @_noLocks
  init() {}
}
