internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// Puts everything in place for a crash, the handlers last.
///
/// Ordinary code, run once in a process, under the lock of `startHandler`.
enum HandlerInstaller {
  /// Installs.
  ///
  /// - Throws: `CrashHandlerError.notInstalled`; then all signal actions are what they were.
  static func install(
    files: borrowing PendingDumpFiles, facts: LaunchFacts, course: RunCourse?,
    options: HandlerOptions, signals: CrashSignals, hasStandardError: Bool
  ) throws(CrashHandlerError) {
    let refusal = ThreadStack.install()
    guard refusal == 0 else {
      throw CrashHandlerError(
        .notInstalled, "the kernel refuses an alternate signal stack", errorNumber: refusal)
    }
    let entryStacks = Int(PM_ENTRY_STACKS) * Int(PM_ENTRY_STACK_SIZE)
    var memory = try HandlerMemory(capacity: HandlerMemory.captureSize + entryStacks)
    let entryMemory = unsafe try memory.pages(entryStacks)
    let state = unsafe try makeState(
      files: files, facts: facts, course: course, options: options, signals: signals,
      hasStandardError: hasStandardError, memory: &memory)
    unsafe state.pointee.followsRun = files.followsRun
    unsafe state.pointee.recordDescriptor = files.recordDescriptor
    unsafe state.pointee.recordIdentity = FileIdentity(of: files.recordDescriptor)
    unsafe state.pointee.recordMapping = files.recordMapping
    unsafe state.pointee.mapsRecords = files.recordMapping.isMapped
    unsafe state.pointee.filesOwner = (files.owner?.user ?? 0, files.owner?.group ?? 0)
    pm_bind_now()
    pm_find_thread_base()
    let entry: @convention(c) () -> Void = pm_handle_fork
    unsafe pm_pin_module(unsafeBitCast(entry, to: UnsafeRawPointer.self))
    unsafe pm_set_entry_stacks(entryMemory)
    unsafe pm_set_state(state)
    do throws(CrashHandlerError) {
      try signals.install()
    } catch {
      // The memory goes with this error; a stray signal must not find it.
      pm_set_state(nil)
      pm_set_entry_stacks(nil)
      throw error
    }
    unsafe state.pointee.crashAction = signals.installedAction()
    if files.followsRun { ExitNotes.follow() }
    ExitNotes.cleanUpAtExit()
    // A C library without memory for one more entry leaves children as before: their crashes leave
    // no report.
    _ = pthread_atfork(nil, nil, pm_handle_fork)
    pm_set_continuation(pm_continue_run)
    // ThreadSanitizer's handler, which runs after ours, has no stack on these threads either: given
    // one, it would report the overflow and exit with 66 where the program alone dies of SIGSEGV.
    if options.alternateStacksOnAllThreads, pm_is_thread_sanitized() == 0 {
      // First those to come, so that nobody is missed between the two.
      ThreadStack.followNewThreads()
      unsafe EarlierThreads.giveStacks(state)
    }
    memory.keep()
  }

  // MARK: - State

  private static func makeState(
    files: borrowing PendingDumpFiles, facts: LaunchFacts, course: RunCourse?,
    options: HandlerOptions, signals: CrashSignals, hasStandardError: Bool,
    memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> UnsafeMutablePointer<HandlerState> {
    let state = unsafe try memory.pages(MemoryLayout<HandlerState>.size)
      .bindMemory(to: HandlerState.self, capacity: 1)
    let wordStride = HandlerMemory.wordStride
    let words = unsafe try memory.pages(10 * wordStride)
    let (markPage, wipesMark) = unsafe try memory.pageWipedInCopies()
    let copyMark = unsafe FutexWord(markPage.bindMemory(to: UInt32.self, capacity: 1))
    copyMark.store(OwnProcess.whole)
    func word(_ index: Int) -> FutexWord {
      unsafe FutexWord(
        (words + index * wordStride).bindMemory(to: UInt32.self, capacity: 1))
    }
    let threadCapacity = min(max(options.limits.threads, 1), 4096)
    let stackSize = HandlerMemory.captureStackSize
    let faultStackSize = 64 << 10
    let process = facts.encodedProcess() ?? []
    let system = facts.encodedSystem() ?? []
    let encodedCourse = course?.encoded() ?? []
    let stackMapping = EnvironmentRange.current()
    var (debugAddress, dynamicSection, dynamicSize) = (UInt64(0), UInt64(0), UInt64(0))
    unsafe pm_find_link_map(&debugAddress, &dynamicSection, &dynamicSize)
    var (tasks, exceptions) = (pm_task_facts(), pm_exception_facts())
    unsafe pm_find_task_facts(&tasks)
    unsafe pm_find_exception_facts(&exceptions)
    let actions = unsafe try memory.pages(65 * MemoryLayout<pm_signal_action>.stride)
      .bindMemory(to: pm_signal_action.self, capacity: 65)
    unsafe signals.copyActions(to: actions)
    let captureStack = unsafe try memory.stack(stackSize)
    let reportID = unsafe try memory.pages(16)
    unsafe reportID.copyMemory(from: files.reportID.bytes, byteCount: 16)
    let finished = files.lockedName.with(role: .finished).description
    let readsFiles = !options.forgoing.contains(.files)
    let proc = unsafe readsFiles ? open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1
    let run = RunRecord.current(signals)
    let bootID = Array(run.bootID.utf8)
    let spare = spareDescriptor()
    unsafe state.initialize(
      to: try HandlerState(
        processID: getpid(), copyMark: copyMark, wipesMark: wipesMark,
        run: RunFacts(
          startTime: run.startTime, stackStart: run.stackStart,
          processNamespace: run.processNamespace ?? 0, timeNamespace: run.timeNamespace ?? 0,
          launchTime: run.launchTime ?? 0,
          bootID: memory.bytes(bootID), bootIDCount: bootID.count),
        limits: options.limits,
        forgone: options.forgoing.rawValue,
        databasePath: memory.text(files.databasePath),
        folderPath: memory.text(files.databasePath + "/" + PendingDumpName.folder),
        lockedName: memory.text(files.lockedName.description),
        finishedName: memory.text(finished),
        runRecordName: memory.text(files.lockedName.with(role: .runRecord).description),
        fifoName: memory.text(files.lockedName.with(role: .fifo).description),
        reportIDOffset: finished.utf8.count - ReportName.textLength,
        reportID: reportID,
        fileDescriptor: files.descriptor,
        fileIdentity: FileIdentity(of: files.descriptor),
        folderDescriptor: files.folderDescriptor,
        folderIdentity: FileIdentity(of: files.folderDescriptor),
        fifoDescriptor: files.fifoDescriptor,
        fifoIdentity: FileIdentity(of: files.fifoDescriptor),
        procDescriptor: proc,
        procIdentity: FileIdentity(of: proc),
        timeLimit: max(options.limits.milliseconds, 1),
        watchdogSignal: signals.watchdogSignal,
        timer: options.forgoing.contains(.timers)
          ? -1 : WatchdogTimer.make(signal: signals.watchdogSignal),
        spareDescriptors: (spare, spareDescriptor()),
        spareIdentity: FileIdentity(of: spare),
        stopAction: signals.stopAction(),
        stopSignal: signals.stopSignal,
        previousActions: actions,
        crashSignals: signals.mask,
        openSignals: signals.open,
        environmentStart: stackMapping.start,
        environmentEnd: stackMapping.end,
        fatalMessageBuffer: UInt64(UInt(bitPattern: pm_fatal_message_buffer())),
        abortMessagePointer: UInt64(UInt(bitPattern: pm_abort_message_pointer())),
        taskFacts: tasks,
        exceptionFacts: exceptions,
        stackOffers: StackOffers(
          records: memory.pages(threadCapacity * StackOffers.stride), capacity: threadCapacity,
          count: word(7), answers: word(8), stackSize: AlternateStack.size,
          sufficientSize: AlternateStack.sufficientSize),
        controlGroup: facts.controlGroup.files,
        linkDebugAddress: debugAddress,
        dynamicSection: dynamicSection,
        dynamicSectionSize: Int(min(dynamicSize, 4096)),
        encodedProcess: memory.bytes(process),
        encodedProcessCount: process.count,
        encodedCourse: memory.bytes(encodedCourse),
        encodedCourseCount: encodedCourse.count,
        encodedFacts: memory.bytes(system),
        encodedFactsCount: system.count,
        captureStackTop: captureStack + stackSize,
        faultStack: memory.stack(faultStackSize),
        faultStackSize: faultStackSize,
        landingPads: memory.landingPads(),
        threads: memory.threads(capacity: threadCapacity, countWord: word(0)),
        mappings: memory.mappings(),
        scratch: memory.pages(HandlerMemory.scratchSize),
        scratchSize: HandlerMemory.scratchSize,
        lastWords: LastWords.prepare(
          options: options, facts: facts, signals: signals, hasStandardError: hasStandardError,
          memory: &memory),
        owner: word(1),
        turn: word(2),
        ending: word(6),
        parking: word(3),
        stopped: word(4),
        stopTarget: word(5),
        waiting: memory.pages(WaitingCrashes.byteCount(capacity: threadCapacity)),
        dumpingThreads: DumpingThreads(
          base: memory.pages(DumpingThreads.byteCount), freed: word(9)),
        hangDumps: HangDumps(base: memory.pages(HangDumps.byteCount)),
        writer: memory.writer(to: files.descriptor, limits: options.limits),
        precedingReport: memory.pages(16),
        precedingName: UnsafeMutablePointer(mutating: memory.text(finished)),
        knownFaults: KnownFaults(base: memory.pages(KnownFaults.byteCount))))
    unsafe SwiftBacktracer.prepare(state, signals: signals)
    unsafe state.pointee.writer.asksFile = !options.forgoing.contains(.filePosition)
    return unsafe state
  }

  /// A place in the descriptor table; -1, which holds none, if there is none to be had.
  private static func spareDescriptor() -> Int32 {
    unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
  }
}
