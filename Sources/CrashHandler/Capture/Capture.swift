internal import CSignalSafe
internal import IntermediateDump

/// The steps of a capture, in order: most write a part of the dump.
///
/// The process may be killed during any of them. So first comes the crash itself, then the crashing thread, with the
/// mappings and modules that its frames are read by, then the rest of the process; the comments
/// below give other reasons. A fault in a section ends that section and no other (`SectionRunner`).
/// The end of the time ends the one that runs; those that follow are left out, but for `writeCapture`.
///
/// `pm_write_dump` writes the header, the `process` map encoded at launch and, where they apply,
/// `dumpRequest` and `survival` before the first section, and the end mark after `writeCapture`. A raw value is a place in this order and can
/// change; dumps name a section by its `Entry.number`. `SectionTests` compares order, numbers and
/// names with `Docs/IntermediateDumpFormat.md`.
///
/// RUNS-DURING-CRASH: under the rules of `Docs/AsyncSignalSafety.md`. `@_noLocks` has the compiler
/// refuse allocations and locks; the audit of the linked program checks what it cannot see.
package enum Section: UInt8, CaseIterable, Sendable {
  // Before the threads are stopped, which takes up to 250 ms: the process may be killed meanwhile.
  // The exception has the last messages of the Swift runtime and glibc.
  case writeException, writeCrashingThreadTop
  // Write nothing. Threads that run change the mappings, which all that follows needs.
  case stopThreads, readMappings
  case writeProcess, writeMappings, writeModules, writeCrashingThread, writeCxxException
  // Small. Tasks and threads can reach the dump's size limit; the crashing thread's task is first.
  case writeSystemAndAnnotations, writeContexts, writeThrows, writeClient
  case writeTasks, writeThreads
  // Needed for few crashes: memory that the program named, resource counts, the linker's list.
  case writeExtraMemory, writeResources, writeLinkMap
  // Behind all else: a call for each descriptor.
  case writeSurroundings
  // Has time of its own, and names the sections that ran out of time.
  case writeCapture
  // After the end mark, in a crash only.
  case removeHangDumps, writeSummary, writeStandardError

  /// The number, name and function of one section.
  @safe
  package struct Entry {
    /// Its bit in `Progress` and in a dump's `sectionsAbandoned`; never used for another one.
    ///
    /// Sections after the end mark have one only so that none is run twice.
    package let number: UInt8
    /// Its name in documents.
    package let name: StaticString
    /// Its function: `@c`, because a landing pad calls it by address, and audit and proofs find it
    /// by its symbol, `pm_` and the case's name in snake case.
    let body: @convention(c) (UnsafeMutableRawPointer) -> Void

    fileprivate init(
      _ number: UInt8, _ name: StaticString,
      _ body: @convention(c) (UnsafeMutableRawPointer) -> Void
    ) {
      self.number = number
      self.name = name
      unsafe self.body = body
    }
  }

  // Never inlined: the audit follows the switch's jump table only inside this function.
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
      case .writeSystemAndAnnotations:
        unsafe Entry(8, "system and annotations", pm_write_system_and_annotations)
      case .writeContexts: unsafe Entry(21, "contexts", pm_write_contexts)
      case .writeThrows: unsafe Entry(22, "throws", pm_write_throws)
      case .writeClient: unsafe Entry(16, "client data", pm_write_client)
      case .writeTasks: unsafe Entry(19, "tasks", pm_write_tasks)
      case .writeThreads: unsafe Entry(9, "other threads", pm_write_threads)
      case .writeExtraMemory: unsafe Entry(17, "extra memory", pm_write_extra_memory)
      case .writeResources: unsafe Entry(11, "resources", pm_write_resources)
      case .writeLinkMap: unsafe Entry(12, "link map", pm_write_link_map)
      case .writeSurroundings: unsafe Entry(23, "surroundings", pm_write_surroundings)
      case .writeCapture: unsafe Entry(10, "capture", pm_write_capture)
      case .removeHangDumps: unsafe Entry(15, "removing the dumps of hangs", pm_remove_hang_dumps)
      case .writeSummary: unsafe Entry(13, "crash summary", pm_write_summary)
      case .writeStandardError:
        unsafe Entry(14, "crash summary on standard error", pm_write_standard_error)
      }
    }
  }

  /// `entry.number` as a bit.
  var bit: UInt64 { @_noLocks get { 1 &<< UInt64(entry.number) } }

  /// False for a section whose bytes wait for those of the next one, and for one behind the end mark.
  ///
  /// The exception stays in the buffer until the crashing thread's registers follow, so that one write
  /// takes both to the file. The rest of a dump that was given up belongs in no file.
  var isFlushed: Bool {
    @_noLocks get {
      if case .writeException = self { false } else { isOfDump }
    }
  }

  static var first: Section? { @_noLocks get { .writeException } }
  /// The next one; nil after the last.
  var next: Section? { @_noLocks get { Section(rawValue: rawValue &+ 1) } }

  /// True if it runs before the end mark.
  package var isOfDump: Bool { @_noLocks get { rawValue <= Section.writeCapture.rawValue } }
}

/// A handle to the state of one dump, which crash code is given in place of globals.
///
/// `session` belongs to this dump, `installed` was fixed at launch, and `shared` is common to all
/// threads and dumps of the process. Their memory is not freed while a thread can reach it. Swift
/// globals would be initialised lazily in debug builds, and checked by the runtime at each access.
///
/// RUNS-DURING-CRASH.
@safe
struct Capture {
  private let address: UnsafeMutablePointer<Session>

  @_noLocks
  init(_ address: UnsafeMutablePointer<Session>) {
    unsafe self.address = address
  }

  /// Makes it from the argument of a section.
  @_noLocks
  init(_ argument: UnsafeMutableRawPointer) {
    unsafe address = argument.assumingMemoryBound(to: Session.self)
  }

  /// The handle that crashes use; nil until the handler is installed.
  static var ofHandler: Capture? {
    @_noLocks get {
      guard let address = unsafe pm_state() else { return nil }
      return unsafe Capture(address)
    }
  }

  /// The argument of a section.
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

  /// Reads memory of the program; a fault in it is caught.
  var memory: SafeMemory { @_noLocks get { memory(nil) } }

  /// The same through the page cache, for sections behind the stop of the threads.
  var cachedMemory: SafeMemory { @_noLocks get { memory(session.pages) } }

  @inline(never)
  private func memory(_ pages: PageCache?) -> SafeMemory {
    unsafe SafeMemory(
      processID: shared.process.id, environmentStart: installed.environment.start,
      environmentEnd: installed.environment.end,
      landingPad: session.hasFaultStack ? session.landingPads.copy : nil,
      usesSystemCall: mayMake(CallBit.memory), pages: pages,
      absent: session.resident.isOpen
        ? AbsentPages(resident: session.resident, mappings: session.mappings, proc: proc) : nil)
  }

  /// The reader of /proc for this dump.
  var proc: ProcReader {
    @_noLocks get { ProcReader(proc: session.files.proc.descriptor) }
  }

  var calls: CrashCalls { @_noLocks get { CrashCalls(forgone: installed.forgone) } }

  /// True if the group of system calls may be made: the program has not forgone it
  /// (`HandlerOptions.forgoing`).
  @_noLocks
  func mayMake(_ call: UInt32) -> Bool { calls.mayMake(call) }

  /// The monotonic clock and that of the day, in nanoseconds; 0 where clocks are forgone.
  var clock: UInt64 { @_noLocks get { mayMake(CallBit.proc) ? pm_monotonic_clock() : 0 } }
  var wallClock: UInt64 { @_noLocks get { mayMake(CallBit.proc) ? pm_wall_clock() : 0 } }

  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    calls.isSame(file, linked: linked)
  }
}

/// The system calls that crash code makes.
///
/// RUNS-DURING-CRASH.
struct CrashCalls {
  /// `SystemCalls` that are not made, as bits.
  fileprivate let forgone: UInt32

  /// True if the group of system calls may be made: the program has not forgone it
  /// (`HandlerOptions.forgoing`).
  @_noLocks
  func mayMake(_ call: UInt32) -> Bool { forgone & call == 0 }

  /// True if the descriptor still refers to the file that it was opened for, or checks are forgone.
  ///
  /// - Parameter linked: whether the file must have a name, too.
  @_noLocks
  func isSame(_ file: HeldFile, linked: Bool = false) -> Bool {
    mayMake(CallBit.files) ? file.isThere(linked: linked) : file.descriptor >= 0
  }

  /// Holds a descriptor's present file; by its number alone where files are not checked.
  @_noLocks
  func hold(_ descriptor: Int32) -> HeldFile {
    HeldFile(
      descriptor, identity: FileIdentity(of: mayMake(CallBit.files) ? descriptor : -1))
  }
}
