internal import CSignalSafe
internal import IntermediateDump

// The functions that the sections of `Section` are called by, in its order, but for stopping the
// threads. Each takes the parts of the capture that its section uses, and hands over nothing else.

extension Capture {
  /// The dump, for sections.
  fileprivate var output: DumpOutput { DumpOutput(self) }

  /// Nil where everything is kept.
  fileprivate var sanitizer: WordSanitizer? {
    installed.isSanitized ? WordSanitizer(session.mappings) : nil
  }

  fileprivate var regions: MemoryWriter {
    @_noLocks get { MemoryWriter(memory: memory, output: output, sanitizer: sanitizer) }
  }

  /// The same through the page cache: for small regions that lie close together.
  fileprivate var cachedRegions: MemoryWriter {
    @_noLocks get { MemoryWriter(memory: cachedMemory, output: output, sanitizer: sanitizer) }
  }

  fileprivate var stacks: StackWriter {
    @_noLocks get { StackWriter(regions: regions, mappings: session.mappings, output: output) }
  }

  fileprivate var threads: ThreadWriter {
    @_noLocks get {
      ThreadWriter(
        stacks: stacks, memory: memory, status: ThreadStatus(proc, scratch: session.scratch),
        stage: MemoryStage(memory, in: session.scratch.firstHalf),
        waiting: shared.waiting, readsAgain: !session.request.isCrash,
        sanitizer: sanitizer, output: output)
    }
  }

  fileprivate var images: ImageFinder {
    @_noLocks get {
      ImageFinder(
        places: installed.images, mappings: session.mappings, memory: cachedMemory,
        scratch: session.scratch)
    }
  }

  /// False for the exception's thread where it hangs: another one captures then.
  fileprivate var capturesItself: Bool { !session.request.isHang }
}

/// RUNS-DURING-CRASH.
@c(pm_write_exception) @_noLocks
func pm_write_exception(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let section = ExceptionSection(
    capture.session.exception, processID: capture.shared.process.id, proc: capture.proc,
    isSanitized: capture.installed.isSanitized, output: capture.output)
  section.begin()
  // Else no signal came, and the runtime's last message is of something else.
  if capture.session.request.isCrash {
    section.writeSignal()
    if capture.mayMake(CallBit.proc) {
      section.writeFaultPage(pageSize: capture.installed.images.pageSize)
    }
    if !capture.installed.isSanitized {
      section.writeMessages(
        capture.regions, fatal: capture.installed.runtime.fatalMessageBuffer,
        abort: capture.installed.runtime.abortMessagePointer)
    }
  }
  section.end()
}

/// Writes the registers and the top of the stack of the thread that crashed; a hung thread is
/// written once it stands still.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread_top) @_noLocks
func pm_write_crashing_thread_top(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.capturesItself else { return }
  // To tell addresses by; read again once nothing changes them any more. That may take long: the
  // exception goes to the file first.
  if capture.installed.isSanitized {
    capture.output.flush()
    unsafe pm_read_mappings(argument)
  }
  let thread = CrashingThread(
    capture.session.exception, threads: capture.threads, output: capture.output)
  thread.begin()
  thread.writeRegisters()
  if let context = capture.session.exception.signal.context {
    let top = StackTop(
      memory: capture.memory, regions: capture.regions,
      limit: capture.installed.limits.crashingThreadStack, output: capture.output)
    capture.session.progress.writtenStack = top.write(context)
  }
  thread.end()
}

/// Reads `/proc/thread-self/maps` into the table.
///
/// RUNS-DURING-CRASH.
@c(pm_read_mappings) @_noLocks
func pm_read_mappings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  // Their text may have been used for lists since an earlier reading.
  capture.session.mappings.removeAll()
  let descriptor = capture.proc.open(named: "thread-self/maps")
  if descriptor >= 0 {
    capture.session.mappings.fill(from: descriptor)
    _ = pm_close(descriptor)
  }
  capture.session.counts.set(.mappings, isShown: capture.session.mappings.count > 0)
}

/// RUNS-DURING-CRASH.
@c(pm_write_process) @_noLocks
func pm_write_process(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  writeProcess(
    capture.calls, proc: capture.proc, hidesName: capture.installed.isSanitized,
    hidesUser: capture.installed.surroundings.isHidden, to: capture.output)
}

/// RUNS-DURING-CRASH.
@c(pm_write_mappings) @_noLocks
func pm_write_mappings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  writeMappings(capture.session.mappings, to: capture.output)
}

/// RUNS-DURING-CRASH.
@c(pm_write_modules) @_noLocks
func pm_write_modules(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  writeModules(capture.images, to: capture.output)
}

/// Writes what is left of the crashing thread: what the kernel tells of it, the rest of its stack, and
/// the memory around its registers.
///
/// RUNS-DURING-CRASH.
@c(pm_write_crashing_thread) @_noLocks
func pm_write_crashing_thread(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let thread = CrashingThread(
    capture.session.exception, threads: capture.threads, output: capture.output)
  let limit = capture.installed.limits.crashingThreadStack
  guard capture.capturesItself else {
    if let context = thread.writeHung(capture.session.threads, limit: limit) {
      writeMemory(of: thread, around: context, capture)
    }
    return
  }
  thread.begin()
  // Again, where the section that writes them was broken off.
  if capture.session.progress.abandoned & Section.writeCrashingThreadTop.bit != 0 {
    thread.writeRegisters()
  }
  thread.writeStatus()
  if let context = capture.session.exception.signal.context {
    let stack = CrashedStack(
      mappings: capture.session.mappings, environmentStart: capture.installed.environment.start)
    capture.stacks.write(
      from: stack.lowestAddress(context), threadPointer: pm_thread_pointer(), limit: limit,
      written: capture.session.progress.writtenStack)
  }
  thread.end()
  if let context = capture.session.exception.signal.context {
    writeMemory(of: thread, around: context, capture)
  }
}

/// Writes the memory that the registers point at, the instructions alone where secrets are left out, and
/// unwind tables that no file will have.
@_noLocks
private func writeMemory(
  of thread: CrashingThread, around context: SignalContext, _ capture: Capture
) {
  let plain = MemoryWriter(memory: capture.cachedMemory, output: capture.output)
  if capture.installed.isSanitized {
    thread.writeCode(at: context, in: capture.session.mappings, plain)
  } else {
    let registers = RegisterMemory(capture.cachedRegions, scratch: capture.session.scratch)
    thread.writeMemory(around: context, registers, capture.cachedRegions)
  }
  let tables = LostTables(capture.images, memory: capture.cachedMemory, regions: plain)
  capture.output.startArray(.memory)
  tables.write(context)
  capture.output.end()
}

/// Writes the C++ exception of a process that aborts.
///
/// RUNS-DURING-CRASH.
@c(pm_write_cxx_exception) @_noLocks
func pm_write_cxx_exception(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.session.request.isCrash, capture.session.exception.signal.number == SIGABRT else {
    return
  }
  writeCxxException(
    capture.installed.runtime.exceptions, memory: capture.cachedMemory,
    scratch: capture.session.scratch, text: capture.cachedRegions,
    withMessage: !capture.installed.isSanitized, to: capture.output)
}

/// Writes what was decided at install: the system's facts and the program's annotations.
///
/// RUNS-DURING-CRASH.
@c(pm_write_system_and_annotations) @_noLocks
func pm_write_system_and_annotations(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.output.write(capture.installed.encoded.system)
}

/// Writes what threads work on: contexts, and the crashing thread's breadcrumbs.
///
/// RUNS-DURING-CRASH.
@c(pm_write_contexts) @_noLocks
func pm_write_contexts(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard !capture.installed.isSanitized else { return }
  let section = ContextSection(
    capture.installed.runtime.tasks, memory: capture.cachedMemory,
    scratch: capture.session.scratch, output: capture.output)
  section.write(
    capture.session.exception.threadID, capturesItself: capture.capturesItself,
    others: capture.session.threads)
}

/// Writes where errors were thrown, if the program has that recorded.
///
/// RUNS-DURING-CRASH.
@c(pm_write_throws) @_noLocks
func pm_write_throws(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard capture.installed.recordsThrows else { return }
  let section = ThrowSection(
    capture.session.mappings, isSanitized: capture.installed.isSanitized, output: capture.output)
  section.write(capture.session.exception.threadID)
}

/// Writes client data: annotations, breadcrumbs, and the paths of attachments.
///
/// RUNS-DURING-CRASH.
@c(pm_write_client) @_noLocks
func pm_write_client(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard !capture.installed.isSanitized else { return }
  let section = ClientSection(scratch: capture.session.scratch, output: capture.output)
  section.writeSimpleAnnotations()
  section.writeAnnotations()
  section.writeBreadcrumbs()
  section.writeAttachments()
}

/// RUNS-DURING-CRASH.
@c(pm_write_tasks) @_noLocks
func pm_write_tasks(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let section = TaskSection(
    capture.installed.runtime.tasks, memory: capture.cachedMemory,
    scratch: capture.session.scratch, regions: capture.cachedRegions, output: capture.output)
  section.write(
    capturing: capture.capturesItself ? capture.session.exception.threadID : 0,
    others: capture.session.threads)
}

/// Writes every other thread.
///
/// RUNS-DURING-CRASH.
@c(pm_write_threads) @_noLocks
func pm_write_threads(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.output.startArray(.threads)
  let threads = capture.session.threads
  // A hung thread is written already.
  capture.threads.writeAll(
    of: threads, except: capture.session.exception.threadID,
    limit: stackShare(capture.installed.limits, threads: threads.count))
  capture.output.end()
}

/// The most bytes of one other thread's stack.
private func stackShare(_ limits: CaptureLimits, threads: Int) -> Int {
  var share = limits.otherThreadStacks.dividedReportingOverflow(by: threads).partialValue
  if share < 1024 { share = 1024 }
  return share < limits.otherThreadStack ? share & ~15 : limits.otherThreadStack
}

/// Writes the memory ranges that the program asked for; after the threads, which matter more.
///
/// RUNS-DURING-CRASH.
@c(pm_write_extra_memory) @_noLocks
func pm_write_extra_memory(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  guard !capture.installed.isSanitized else { return }
  let section = ClientSection(scratch: capture.session.scratch, output: capture.output)
  section.writeMemory(capture.regions, limit: capture.installed.limits.extraMemory)
}

/// RUNS-DURING-CRASH.
@c(pm_write_resources) @_noLocks
func pm_write_resources(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let section = ResourceSection(
    proc: capture.proc, scratch: capture.session.scratch, calls: capture.calls,
    output: capture.output)
  let showsDescriptors = section.write(
    capture.installed.cgroup, mappingCount: capture.session.mappings.count)
  capture.session.counts.set(.descriptors, isShown: showsDescriptors)
}

/// RUNS-DURING-CRASH.
@c(pm_write_link_map) @_noLocks
func pm_write_link_map(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  writeLinkMap(
    capture.installed.images.known, memory: capture.cachedMemory, text: capture.cachedRegions,
    to: capture.output)
}

/// RUNS-DURING-CRASH.
@c(pm_write_surroundings) @_noLocks
func pm_write_surroundings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let known = capture.installed.surroundings
  let section = SurroundingsSection(
    proc: capture.proc, scratch: capture.session.scratch, hidesNames: known.isHidden,
    output: capture.output)
  section.writeSystem(timeZone: !known.hasTimeZone, container: known.mayBeContainer)
  section.writeProcess()
}

/// Writes how well the dump went.
///
/// RUNS-DURING-CRASH.
@c(pm_write_capture) @_noLocks
func pm_write_capture(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let section = CaptureSection(
    capture.session.counts, abandoned: capture.session.progress.abandoned, clock: capture.clock,
    entryTime: capture.session.exception.entryTime, output: capture.output)
  // The capturing thread is not in the table, unless it captures another one's hang.
  section.write(capture.session.threads, unlisted: capture.capturesItself ? 1 : 0)
}

/// Removes the dumps of hangs that a finished crash dump has overtaken; behind the dump, where a fault
/// costs nothing of it.
///
/// RUNS-DURING-CRASH.
@c(pm_remove_hang_dumps) @_noLocks
func pm_remove_hang_dumps(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.shared.hangDumps.removeAllFiles(in: capture.session.files.directory.descriptor)
}

/// Puts the lines of the crash summary together.
///
/// RUNS-DURING-CRASH.
@c(pm_write_summary) @_noLocks
func pm_write_summary(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let (outcome, names) = (capture.session.outcome, capture.session.names)
  let directory = unsafe capture.installed.paths.directory
  var lines = SummaryLines(capture.installed.summary, processID: capture.shared.process.id)
  // Swift's backtracer prints the rest.
  if capture.session.exception.isBacktraced {
    return unsafe lines.append(outcome, names, in: directory, isAlone: true)
  }
  // Without a dump nobody has read them yet, or not for this crash.
  if !outcome.hasFile || capture.session.mappings.count == 0 { unsafe pm_read_mappings(argument) }
  let (memory, scratch) = (capture.memory, capture.session.scratch)
  lines.appendHead()
  lines.append(capture.session.exception.signal)
  let isSanitized = capture.installed.isSanitized
  if !isSanitized {
    let runtime = capture.installed.runtime
    lines.appendMessage(
      "message ", at: runtime.fatalMessageBuffer, skipping: 0, memory: memory, scratch: scratch)
    // Behind its size, see pm_abort_message_pointer.
    lines.appendMessage(
      "abort-message ", at: runtime.abortMessagePointer, skipping: 4, memory: memory,
      scratch: scratch)
  }
  lines.appendThread(
    capture.session.exception.threadID, withName: !isSanitized, proc: capture.proc,
    scratch: scratch)
  unsafe lines.append(outcome, names, in: directory, isAlone: false)
  if let context = capture.session.exception.signal.context {
    var images = capture.images
    images.findAll()
    lines.appendStack(
      context, mappings: capture.session.mappings, images: images, memory: capture.cachedMemory,
      scratch: scratch)
  }
  lines.appendEnd()
}

/// Writes them to descriptor 2, if it is what it was at launch.
///
/// RUNS-DURING-CRASH.
@c(pm_write_standard_error) @_noLocks
func pm_write_standard_error(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let summary = capture.installed.summary
  if capture.isSame(summary.standardError) { summary.write() }
}
