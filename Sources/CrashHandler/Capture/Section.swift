internal import CSignalSafe
internal import IntermediateDump

/// The steps of a capture, in their order; most of them write a part of the dump.
///
/// The process may be killed during any section. So the crash itself is written first, then the crashing thread with
/// the mappings and modules that are needed to find its frames, then the rest of the process. The comments below
/// explain the rest of the order. A fault in a section ends only that section (`Capture.run`). At the time limit, the
/// current section ends, and all later sections except `writeCapture` are left out.
///
/// Before the first section, `pm_write_dump` writes the header, the `process` map encoded at launch and, if needed,
/// the maps `dumpRequest` and `survival`. After `writeCapture`, it writes the end mark. A raw value is a section's
/// position in this order, and can change; dumps identify a section by its `DumpSection`. A file in
/// `Capture/Sections` contains each section's `SectionRow` and function. `SectionTests` compares order, numbers and
/// names with `Docs/Internals/IntermediateDumpFormat.md`.
///
/// RUNS-DURING-CRASH: under the rules of `Docs/Internals/AsyncSignalSafety.md`. `@_noLocks` makes the compiler refuse
/// allocations and locks; the audit of the linked program checks calls that the compiler cannot see.
package enum Section: UInt8, CaseIterable, Sendable {
  // These sections run before the threads are stopped, because stopping takes up to 250 ms, and the process may be
  // killed meanwhile. The exception includes the last messages of the Swift runtime and glibc.
  case writeException, writeCrashingThreadTop
  // These two sections write nothing. All later sections need the mappings, which running threads would change.
  case stopThreads, readMappings
  case writeProcess, writeMappings, writeModules, writeCrashingThread, writeCxxException
  // The first five sections are small. Tasks and threads can reach the dump's size limit, so they come later, with
  // the crashing thread's task first.
  case writeSystemAndAnnotations, writeContexts, writeThrows, writeClient, writePointedMemory
  case writeTasks, writeThreads
  // The data in these sections rarely explains a crash: memory that the program registered, bytes that show the types
  // of objects, resource counts, the dynamic linker's list.
  case writeExtraMemory, writeObjects, writeResources, writeLinkMap
  // This section is the last one before `writeCapture`, because it makes a system call for each open descriptor.
  case writeSurroundings
  // This section has a separate time limit, and lists the sections that failed or were left out.
  case writeCapture
  // These sections run after the end mark is written, and only in a crash.
  case removeHangDumps, writeSummary, writeStandardError

  // This getter is never inlined, because the audit follows the switch's jump table only inside this getter.
  package var entry: SectionRow {
    @inline(never) @_noLocks get {
      switch self {
      case .writeException: .exception
      case .writeCrashingThreadTop: .crashingThreadTop
      case .stopThreads: .stopThreads
      case .readMappings: .readMappings
      case .writeProcess: .process
      case .writeMappings: .mappings
      case .writeModules: .modules
      case .writeCrashingThread: .crashingThread
      case .writeCxxException: .cxxException
      case .writeSystemAndAnnotations: .systemAndAnnotations
      case .writeContexts: .contexts
      case .writeThrows: .throwRecords
      case .writeClient: .client
      case .writePointedMemory: .pointedMemory
      case .writeTasks: .tasks
      case .writeThreads: .threads
      case .writeExtraMemory: .extraMemory
      case .writeObjects: .objects
      case .writeResources: .resources
      case .writeLinkMap: .linkMap
      case .writeSurroundings: .surroundings
      case .writeCapture: .capture
      case .removeHangDumps: .removeHangDumps
      case .writeSummary: .summary
      case .writeStandardError: .standardError
      }
    }
  }

  var bit: UInt64 { @_noLocks get { entry.bit } }

  /// True if the section's bytes are written to the file as soon as the section ends.
  ///
  /// False for a section that is written together with the next one, and for a section after the end mark.
  ///
  /// The exception stays in the buffer until the crashing thread's registers follow, so that one write stores both.
  /// The sections of contexts and throws are usually empty; otherwise they write a few bytes from the handler's own
  /// memory. After the end mark, nothing may be written to the dump's file.
  var isFlushed: Bool {
    @_noLocks get {
      switch self {
      case .writeException, .writeContexts, .writeThrows: false
      default: isOfDump
      }
    }
  }

  static var first: Section? { @_noLocks get { .writeException } }
  /// The next section; nil after the last one.
  var next: Section? { @_noLocks get { Section(rawValue: rawValue &+ 1) } }

  /// True if the section runs before the end mark is written.
  package var isOfDump: Bool { @_noLocks get { rawValue <= Section.writeCapture.rawValue } }
}
