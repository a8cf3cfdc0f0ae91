package import IntermediateDump

/// The steps of a capture, in their order; most of them write a part of the dump.
///
/// The process may be killed during any step. So the crash itself is written first, then the crashing thread with the
/// mappings and modules that are needed to find its frames, then the rest of the process. The comments at the cases
/// explain the rest of the order. A fault in a section ends only that section (`Capture.run`). At the time limit, the
/// current section ends, and all later sections of the dump except `writeCapture` are left out.
///
/// Before the first section, `pm_write_dump` writes the header, the `process` map encoded at launch, the time of the
/// crash and, if they apply, new IDs of report and process, `dumpRequest` and `survival`. After `writeCapture`, it
/// writes the end mark. A case's raw value is its position in this order and can change; dumps identify a section by
/// its `DumpSection`. The functions of the sections are in `Capture/Sections`. `SectionTests` compares order, numbers
/// and names with `Docs/Internals/IntermediateDumpFormat.md`.
///
/// RUNS-DURING-CRASH: code with this mark follows the rules in `Docs/Internals/AsyncSignalSafety.md`. `@_noLocks` makes
/// the compiler refuse allocations and locks; the audit of the linked program checks calls that the compiler cannot
/// see.
package enum Section: UInt8, CaseIterable, Sendable {
  // These sections run before the threads are stopped, because stopping may take 250 ms or more, and the process may
  // be killed during that time. The exception includes the last messages of the Swift runtime and glibc.
  case writeException, writeCrashingThreadTop
  // `stopThreads` and `readMappings` write nothing. The mappings, which many later sections need, are read after the
  // threads are stopped, because running threads could change them.
  case stopThreads, readMappings
  // The surroundings come before all sections that read much memory, because they show whether another process or
  // thread may have to provide memory. They take a system call for each of up to 256 open descriptors.
  case writeProcess, writeMappings, writeSurroundings
  case writeModules, writeCrashingThread, writeCxxException
  // The sections in the next line are small. Tasks and threads can reach the dump's size limit, so they come later,
  // with the crashing thread's task first.
  case writeSystemAndAnnotations, writeContexts, writeThrows, writeClient, writePointedMemory
  case writeTasks, writeThreads
  // The data in these sections rarely explains a crash: memory that the program registered, bytes that show the types
  // of objects, resource counts, the dynamic linker's list.
  case writeExtraMemory, writeObjects, writeResources, writeLinkMap
  // This section has a separate time limit, and lists the sections that failed or were left out.
  case writeCapture
  // These sections run only in a crash: `removeHangDumps` after a complete dump, the other two also after a dump that
  // has failed.
  case removeHangDumps, writeSummary, writeStandardError

  // This getter is never inlined, because the call-graph audit follows the switch's jump table only inside this getter.
  package var entry: SectionRow {
    @inline(never) @_noLocks get {
      switch self {
      case .writeException: unsafe SectionRow(.exception, pm_write_exception)
      case .writeCrashingThreadTop:
        unsafe SectionRow(.crashingThreadTop, pm_write_crashing_thread_top)
      case .stopThreads: unsafe SectionRow(.stopThreads, pm_stop_threads)
      case .readMappings: unsafe SectionRow(.readMappings, pm_read_mappings)
      case .writeProcess: unsafe SectionRow(.process, pm_write_process)
      case .writeMappings: unsafe SectionRow(.mappings, pm_write_mappings)
      case .writeModules: unsafe SectionRow(.modules, pm_write_modules)
      case .writeCrashingThread: unsafe SectionRow(.crashingThread, pm_write_crashing_thread)
      case .writeCxxException: unsafe SectionRow(.cxxException, pm_write_cxx_exception)
      case .writeSystemAndAnnotations:
        unsafe SectionRow(.systemAndAnnotations, pm_write_system_and_annotations)
      case .writeContexts: unsafe SectionRow(.contexts, pm_write_contexts)
      case .writeThrows: unsafe SectionRow(.throwRecords, pm_write_throws)
      case .writeClient: unsafe SectionRow(.client, pm_write_client)
      case .writePointedMemory: unsafe SectionRow(.pointedMemory, pm_write_pointed_memory)
      case .writeTasks: unsafe SectionRow(.tasks, pm_write_tasks)
      case .writeThreads: unsafe SectionRow(.threads, pm_write_threads)
      case .writeExtraMemory: unsafe SectionRow(.extraMemory, pm_write_extra_memory)
      case .writeObjects: unsafe SectionRow(.objects, pm_write_objects)
      case .writeResources: unsafe SectionRow(.resources, pm_write_resources)
      case .writeLinkMap: unsafe SectionRow(.linkMap, pm_write_link_map)
      case .writeSurroundings: unsafe SectionRow(.surroundings, pm_write_surroundings)
      case .writeCapture: unsafe SectionRow(.capture, pm_write_capture)
      case .removeHangDumps: unsafe SectionRow(.removeHangDumps, pm_remove_hang_dumps)
      case .writeSummary: unsafe SectionRow(.summary, pm_write_summary)
      case .writeStandardError: unsafe SectionRow(.standardError, pm_write_standard_error)
      }
    }
  }

  var bit: UInt64 { @_noLocks get { entry.bit } }

  /// True if the section's bytes are written to the file as soon as the section ends, unless they are few.
  ///
  /// The exception usually stays in the buffer until the crashing thread's registers follow, so that one write stores
  /// both. After the end mark, nothing may be written to the dump's file.
  var isFlushed: Bool { @_noLocks get { isOfDump && rawValue > 0 } }

  static var first: Section? { @_noLocks get { .writeException } }
  /// The next section; nil after the last one.
  var next: Section? { @_noLocks get { Section(rawValue: rawValue &+ 1) } }

  /// True if the section runs before the end mark is written.
  package var isOfDump: Bool { @_noLocks get { rawValue <= Section.writeCapture.rawValue } }
}

/// The number and the function of one section of a dump.
///
/// RUNS-DURING-CRASH.
@safe
package struct SectionRow {
  /// The section's number in dumps and its name in documents.
  ///
  /// No dump contains the number of a section that runs after the end mark was written; this number only keeps the
  /// section from being run twice.
  package let section: DumpSection
  /// The section's function.
  ///
  /// The function is marked `@c`, because `pm_run_section` calls it by its address. The call-graph audit and the proofs
  /// find the function by its symbol: `pm_` and the name of the case of `Section` in snake case.
  let body: @convention(c) (UnsafeMutableRawPointer) -> Void

  @_noLocks
  init(_ section: DumpSection, _ body: @convention(c) (UnsafeMutableRawPointer) -> Void) {
    self.section = section
    unsafe self.body = body
  }

  /// The bit that stands for the section in `Progress` and in a dump's `sectionsAbandoned`.
  var bit: UInt64 { @_noLocks get { section.bit } }
}
