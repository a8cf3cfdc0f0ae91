internal import CSignalSafe
internal import IntermediateDump

/// One dump: why it is taken, where it goes, how far it is, and the memory that it needs.
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
  /// What of the crashing thread's stack is in the dump already.
  var writtenStack = WrittenStack()
  /// False if a fault in the handler would overwrite the frame of the crash.
  var hasFaultStack = false
  /// Bytes of the last words that are ready to be written.
  var lastWordsCount = 0

  /// The top of the stack that the dump is taken on.
  let stackTop: UnsafeMutableRawPointer
  let landingPads: LandingPads
  /// `Shared.threads`, or a table of its own for a dump that stops no threads.
  let threads: ThreadTable
  let mappings: MappingTable
  let scratch: Scratch

  @_noLocks
  init(
    installed: UnsafeMutablePointer<Installed>, shared: UnsafeMutablePointer<Shared>,
    names: DumpNames, files: SessionFiles, writer: consuming IntermediateDumpWriter,
    stackTop: UnsafeMutableRawPointer, landingPads: LandingPads,
    threads: ThreadTable, mappings: MappingTable, scratch: Scratch
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
  }

  /// How many threads the dump has in a lesser way, or not.
  struct Counts {
    var threadsReadFromKernel: UInt64 = 0
    var threadsOmitted: UInt64 = 0

    @_noLocks
    init() {}
  }
}
