internal import CSignalSafe
internal import IntermediateDump

/// The parts of a dump, in the order in which they are written.
///
/// The order is that of worth: a dump torn anywhere has what matters most before the tear. A fault
/// in one, or the end of its time, ends that one; see `SectionRunner`. The order of the cases is the
/// order of the file and of nothing else; a section is known by its number.
///
/// RUNS-DURING-CRASH.
package enum Section: UInt8, CaseIterable, Sendable {
  // Before anything that takes time: the process may be killed meanwhile, or end itself.
  case writeException, writeCrashingThreadTop
  // Two that write nothing.
  case stopThreads, readMappings
  case writeProcess, writeMappings, writeModules, writeCrashingThread, writeCxxException
  case writeFacts, writeClient, writeTasks, writeThreads, writeExtraMemory, writeResources
  case writeLinkMap
  // In a time of its own, so that it can say that the time was over. The end mark follows.
  case writeCapture
  // Behind the dump, in a crash only.
  case removeHangDumps, writeSummary, writeStandardError

  /// One section, as code and documents know it.
  @safe
  package struct Entry {
    /// Its bit in a dump's `sectionsAbandoned`; never used for another one.
    package let number: UInt8
    /// Its name in documents.
    package let name: StaticString
    /// Its function, whose symbol is `pm_` and the words of the case.
    let body: @convention(c) (UnsafeMutableRawPointer) -> Void

    @_noLocks
    fileprivate init(
      _ number: UInt8, _ name: StaticString,
      _ body: @convention(c) (UnsafeMutableRawPointer) -> Void
    ) {
      self.number = number
      self.name = name
      unsafe self.body = body
    }
  }

  // Inlined into a loop, it would have a switch table that the audit does not know.
  package var entry: Entry {
    @inline(never) @_noLocks get {
      switch self {
      case .writeException: unsafe Entry(1, "exception", pm_write_exception)
      case .writeCrashingThreadTop:
        unsafe Entry(
          20, "registers and top of the stack of the crashing thread", pm_write_crashing_thread_top)
      case .stopThreads: unsafe Entry(2, "stopping the threads", pm_stop_threads)
      case .readMappings: unsafe Entry(3, "reading the mappings", pm_read_mappings)
      case .writeProcess: unsafe Entry(5, "process", pm_write_process)
      case .writeMappings: unsafe Entry(6, "mappings", pm_write_mappings)
      case .writeModules: unsafe Entry(7, "modules", pm_write_modules)
      case .writeCrashingThread:
        unsafe Entry(4, "the rest of the crashing thread", pm_write_crashing_thread)
      case .writeCxxException: unsafe Entry(18, "C++ exception", pm_write_cxx_exception)
      case .writeFacts: unsafe Entry(8, "system and annotations", pm_write_facts)
      case .writeClient: unsafe Entry(16, "what the program told", pm_write_client)
      case .writeTasks: unsafe Entry(19, "tasks", pm_write_tasks)
      case .writeThreads: unsafe Entry(9, "other threads", pm_write_threads)
      case .writeExtraMemory: unsafe Entry(17, "extra memory", pm_write_extra_memory)
      case .writeResources: unsafe Entry(11, "resources", pm_write_resources)
      case .writeLinkMap: unsafe Entry(12, "link map", pm_write_link_map)
      case .writeCapture: unsafe Entry(10, "capture", pm_write_capture)
      case .removeHangDumps: unsafe Entry(15, "removing the dumps of hangs", pm_remove_hang_dumps)
      case .writeSummary: unsafe Entry(13, "crash summary", pm_write_summary)
      case .writeStandardError:
        unsafe Entry(14, "crash summary on standard error", pm_write_standard_error)
      }
    }
  }

  /// Its bit in `sectionsAbandoned`.
  var bit: UInt64 { @_noLocks get { 1 &<< UInt64(entry.number) } }

  /// False for one that shares its write with the next: a dump that says what happened says where.
  var isFlushed: Bool {
    @_noLocks get {
      if case .writeException = self { false } else { true }
    }
  }

  static var first: Section? { @_noLocks get { .writeException } }
  /// The one that follows; nil behind the last.
  var next: Section? { @_noLocks get { Section(rawValue: rawValue &+ 1) } }

  /// True for those whose tokens are in the dump.
  package var isOfDump: Bool { @_noLocks get { rawValue <= Section.writeCapture.rawValue } }
}

/// A dump that is taken, or can be: the handle of crash code.
///
/// `session` belongs to this dump, `installed` was fixed at launch, and `shared` is what all threads
/// and all dumps of the process have in common. All three lie in memory of their own that is never
/// freed while a thread can reach them: a Swift global would be initialised lazily in debug builds
/// and checked by the runtime at each access.
///
/// RUNS-DURING-CRASH.
@safe
struct Capture {
  private let address: UnsafeMutablePointer<Session>

  @_noLocks
  init(_ address: UnsafeMutablePointer<Session>) {
    unsafe self.address = address
  }

  /// From the argument that a section was called with.
  @_noLocks
  init(_ argument: UnsafeMutableRawPointer) {
    unsafe address = argument.assumingMemoryBound(to: Session.self)
  }

  /// The handler's own, which a crash uses; nil until it is installed.
  static var ofHandler: Capture? {
    @_noLocks get {
      guard let address = unsafe pm_state() else { return nil }
      return unsafe Capture(address)
    }
  }

  /// The argument of a section's function.
  var argument: UnsafeMutableRawPointer {
    @_noLocks get { unsafe UnsafeMutableRawPointer(address) }
  }

  var session: Session {
    @_noLocks unsafeAddress { unsafe UnsafePointer(address) }
    @_noLocks nonmutating unsafeMutableAddress { unsafe address }
  }

  var installed: Installed {
    @_noLocks unsafeAddress { unsafe UnsafePointer(address.pointee.installed) }
  }

  var shared: Shared {
    @_noLocks unsafeAddress { unsafe UnsafePointer(address.pointee.shared) }
    @_noLocks nonmutating unsafeMutableAddress { unsafe address.pointee.shared }
  }

  /// The reader for this dump.
  var memory: SafeMemory {
    @_noLocks get {
      unsafe SafeMemory(
        processID: shared.process.id, environmentStart: installed.environment.start,
        environmentEnd: installed.environment.end,
        landingPad: session.hasFaultStack ? session.landingPads.copy : nil,
        usesSystemCall: makes(CallBit.memoryReads))
    }
  }

  /// The reader of /proc for this dump.
  var proc: ProcReader {
    @_noLocks get { ProcReader(proc: session.files.proc.descriptor) }
  }

  var calls: CrashCalls { @_noLocks get { CrashCalls(forgone: installed.forgone) } }

  @_noLocks
  func makes(_ call: UInt32) -> Bool { calls.makes(call) }

  /// The monotonic clock; 0 where it is not asked.
  var clock: UInt64 { @_noLocks get { makes(CallBit.clocks) ? pm_monotonic_clock() : 0 } }

  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    calls.isSame(file, linked: linked)
  }
}

/// The system calls that crash code makes.
///
/// RUNS-DURING-CRASH.
struct CrashCalls {
  private let forgone: UInt32

  /// - Parameter forgone: `SystemCalls` that are not made, as bits.
  @_noLocks
  init(forgone: UInt32) {
    self.forgone = forgone
  }

  /// Whether a group of them may be made.
  @_noLocks
  func makes(_ call: UInt32) -> Bool { forgone & call == 0 }

  /// True if a descriptor is still that of a file, or is not to be checked.
  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    makes(CallBit.fileChecks) ? file.isThere(linked: linked) : file.descriptor >= 0
  }
}

/// The bits of `SystemCalls`, for crash code, which cannot call an option set.
///
/// RUNS-DURING-CRASH.
enum CallBit {
  static var memoryReads: UInt32 { @_noLocks get { 1 } }
  static var threadSignals: UInt32 { @_noLocks get { 1 &<< 1 } }
  static var timers: UInt32 { @_noLocks get { 1 &<< 2 } }
  static var fileSizeLimit: UInt32 { @_noLocks get { 1 &<< 3 } }
  static var scheduling: UInt32 { @_noLocks get { 1 &<< 4 } }
  static var processorTime: UInt32 { @_noLocks get { 1 &<< 5 } }
  static var parent: UInt32 { @_noLocks get { 1 &<< 6 } }
  static var clocks: UInt32 { @_noLocks get { 1 &<< 7 } }
  static var files: UInt32 { @_noLocks get { 1 &<< 8 } }
  static var cgroup: UInt32 { @_noLocks get { 1 &<< 9 } }
  static var fileChecks: UInt32 { @_noLocks get { 1 &<< 10 } }
  static var filePosition: UInt32 { @_noLocks get { 1 &<< 11 } }
  static var rename: UInt32 { @_noLocks get { 1 &<< 12 } }
  static var directories: UInt32 { @_noLocks get { 1 &<< 13 } }
  static var random: UInt32 { @_noLocks get { 1 &<< 14 } }
  static var faultStack: UInt32 { @_noLocks get { 1 &<< 15 } }
  static var descriptorTable: UInt32 { @_noLocks get { 1 &<< 16 } }
}
