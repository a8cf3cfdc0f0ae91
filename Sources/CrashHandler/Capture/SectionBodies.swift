internal import CSignalSafe
internal import IntermediateDump

// The functions that the sections of `Section` are called by, in its order, but for those that stand
// with what they run: stopping the threads, the hangs' dumps, the summary. Each takes the parts of the
// capture that its section uses, and hands over nothing else.

extension Capture {
  /// The dump, for sections.
  fileprivate var output: DumpOutput { @_noLocks get { DumpOutput(self) } }

  fileprivate var regions: MemoryWriter {
    @_noLocks get { MemoryWriter(memory: memory, output: output) }
  }

  fileprivate var stacks: StackWriter {
    @_noLocks get { StackWriter(regions: regions, mappings: session.mappings, output: output) }
  }

  fileprivate var threads: ThreadWriter {
    @_noLocks get {
      ThreadWriter(
        stacks: stacks, memory: memory, status: ThreadStatus(proc, scratch: session.scratch),
        calls: calls, waiting: shared.waiting, readsAgain: !session.request.isCrash, output: output)
    }
  }

  /// False for the exception's thread where it hangs: another one captures then.
  fileprivate var capturesItself: Bool { @_noLocks get { !session.request.isHang } }
}

/// RUNS-DURING-CRASH.
@c(pm_write_exception) @_noLocks
func pm_write_exception(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let section = ExceptionSection(
    capture.session.exception, processID: capture.shared.process.id, proc: capture.proc,
    output: capture.output)
  section.begin()
  // Else no signal came, and the runtime's last message is of something else.
  if capture.session.request.isCrash {
    section.writeSignal()
    section.writeMessages(
      capture.regions, fatal: capture.installed.runtime.fatalMessageBuffer,
      abort: capture.installed.runtime.abortMessagePointer)
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
  let thread = CrashingThread(
    capture.session.exception, threads: capture.threads, output: capture.output)
  thread.begin()
  thread.writeRegisters()
  if let context = capture.session.exception.signal.context {
    let top = StackTop(
      memory: capture.memory, regions: capture.regions,
      limit: capture.installed.limits.crashingThreadStack, output: capture.output)
    capture.session.writtenStack = top.write(context)
  }
  thread.end()
}

/// Reads `/proc/self/maps` into the table.
///
/// RUNS-DURING-CRASH.
@c(pm_read_mappings) @_noLocks
func pm_read_mappings(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  let descriptor = capture.proc.open(named: "self/maps")
  guard descriptor >= 0 else { return }
  capture.session.mappings.fill(from: descriptor)
  _ = pm_close(descriptor)
}

/// RUNS-DURING-CRASH.
@c(pm_write_process) @_noLocks
func pm_write_process(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  writeProcess(capture.calls, proc: capture.proc, to: capture.output)
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
  let section = ModuleSection(
    mappings: capture.session.mappings, memory: capture.memory, scratch: capture.session.scratch,
    output: capture.output)
  section.write()
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
  let registers = RegisterMemory(capture.regions, scratch: capture.session.scratch)
  guard capture.capturesItself else {
    if let context = thread.writeHung(capture.session.threads, limit: limit) {
      thread.writeMemory(around: context, registers, capture.regions)
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
      from: stack.lowestAddress(context), limit: limit, written: capture.session.writtenStack)
  }
  thread.end()
  if let context = capture.session.exception.signal.context {
    thread.writeMemory(around: context, registers, capture.regions)
  }
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
    capture.installed.runtime.exceptions, memory: capture.memory, scratch: capture.session.scratch,
    text: capture.regions, to: capture.output)
}

/// Writes what was decided at install: the system's facts and the program's annotations.
///
/// RUNS-DURING-CRASH.
@c(pm_write_facts) @_noLocks
func pm_write_facts(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  capture.output.write(capture.installed.encoded.system)
}

/// Writes what the program told: annotations, breadcrumbs, and the paths of attachments.
///
/// RUNS-DURING-CRASH.
@c(pm_write_client) @_noLocks
func pm_write_client(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
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
    capture.installed.runtime.tasks, memory: capture.memory, scratch: capture.session.scratch,
    regions: capture.regions, output: capture.output)
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
  // A hung thread is written already.
  capture.threads.writeAll(
    of: capture.session.threads, except: capture.session.exception.threadID,
    limit: capture.installed.limits.otherThreadStack)
  capture.output.end()
}

/// Writes the memory ranges that the program asked for; after the threads, which matter more.
///
/// RUNS-DURING-CRASH.
@c(pm_write_extra_memory) @_noLocks
func pm_write_extra_memory(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
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
  section.write(capture.installed.cgroup, mappingCount: capture.session.mappings.count)
}

/// RUNS-DURING-CRASH.
@c(pm_write_link_map) @_noLocks
func pm_write_link_map(_ argument: UnsafeMutableRawPointer) {
  let capture = unsafe Capture(argument)
  writeLinkMap(
    capture.installed.linker, memory: capture.memory, text: capture.regions, to: capture.output)
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
