internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// Prepares everything that a crash needs, and then installs the crash handler.
///
/// Not crash code; runs under the lock of `startHandler`, and never again in this process once it has succeeded.
enum HandlerInstaller {
  private static let faultStackSize = SignalFrame.stackSize(64 << 10, frames: 4)

  /// Installs the handler.
  ///
  /// - Parameter isAlone: true if the process had only one thread before this call.
  /// - Throws: `CrashHandlerError.notInstalled`; all signal actions are then unchanged.
  static func install(
    files: borrowing PendingDumpFiles, facts: LaunchFacts, proc: Int32,
    options: HandlerOptions, signals: CrashSignals, hasStandardError: Bool, isAlone: Bool
  ) throws(CrashHandlerError) {
    let stackSize = AlternateStack.currentSize
    let needsStack = stackSize < AlternateStack.sufficientSize
    let entryStackSize = SignalFrame.stackSize(Int(PM_ENTRY_STACK_SIZE), frames: 2)
    let entryStacks = Int(PM_ENTRY_STACKS) * entryStackSize
    var memory = try HandlerMemory(
      capacity: HandlerMemory.captureSize + entryStacks, holdsPages: facts.cgroup.isLimited,
      hasThreadStack: needsStack)
    let refusal = ThreadStack.install(
      currentSize: stackSize, thread: isAlone ? Int32(bitPattern: files.owningRun.processID) : nil
    ) {
      let stack = AlternateStack.make(in: memory.threadStack)
      if stack != nil { memory.giveThreadStack() }
      return stack
    }
    guard refusal == 0 else {
      throw CrashHandlerError(
        .notInstalled, "the kernel refuses an alternate signal stack", errno: refusal)
    }
    // This stack is reserved first, so that the inaccessible zone below `memory` serves as its guard.
    let faultStack = unsafe Installed.FaultStack(
      base: try memory.stack(faultStackSize), size: faultStackSize)
    let entryMemory = unsafe try memory.pages(entryStacks)
    let installed = unsafe try makeInstalled(
      files: files, facts: facts, options: options, signals: signals,
      hasStandardError: hasStandardError, faultStack: faultStack, memory: &memory)
    let capture = unsafe try makeCapture(
      installed, files: files, proc: proc, options: options, signals: signals, memory: &memory)
    pm_bind_now()
    pm_find_thread_base()
    let entry: @convention(c) () -> Void = pm_handle_fork
    unsafe pm_pin_module(unsafeBitCast(entry, to: UnsafeRawPointer.self))
    unsafe pm_set_entry_stacks(entryMemory, UInt64(entryStackSize))
    unsafe pm_set_state(capture.argument)
    do throws(CrashHandlerError) {
      try signals.install()
    } catch {
      // The memory of the state and the stacks is freed after this error. Without these calls, the handler of a signal
      // that arrives late could still use this memory.
      pm_set_state(nil)
      pm_set_entry_stacks(nil, UInt64(entryStackSize))
      throw error
    }
    unsafe installed.pointee.signals.crashAction = signals.installedAction(
      installed.pointee.signals.stopAction)
    unsafe installed.pointee.signals.watchdogAction = signals.watchdogAction(
      installed.pointee.signals.stopAction)
    if files.followsRun { ExitNotes.follow(signals) }
    ExitNotes.cleanUpAtExit()
    // The results are ignored. If the C library has no memory to register `pm_handle_fork`, crashes in forked children
    // leave no report on kernels before 4.14.
    _ = pthread_atfork(nil, nil, pm_handle_fork)
    _ = pthread_atfork(nil, nil, pm_forget_thread_id)
    pm_set_continuation(pm_continue_run)
    if options.keepsCrashSignalsOpen {
      OpenSignals.keep(signals)
    }
    if options.alternateStacksOnAllThreads {
      // The handler first makes new threads install stacks, and then gives stacks to existing threads, so that it
      // misses no thread that starts in between.
      ThreadStack.followNewThreads()
      if !isAlone { EarlierThreads.giveStacks(capture) }
    }
    CrashCode.bringIn()
    if options.recordsThrowSites { pm_record_throws(files.owningRun.stackStart) }
    memory.keep()
  }

  // MARK: - State for crash code

  private static func makeInstalled(
    files: borrowing PendingDumpFiles, facts: LaunchFacts, options: HandlerOptions,
    signals: CrashSignals, hasStandardError: Bool, faultStack: Installed.FaultStack,
    memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> UnsafeMutablePointer<Installed> {
    let installed = unsafe try memory.piece(MemoryLayout<Installed>.size)
      .bindMemory(to: Installed.self, capacity: 1)
    unsafe installed.initialize(
      to: try Installed(
        limits: options.limits, isSanitized: options.privacy > .full,
        timeLimit: Int(clamping: max(options.limits.time.wholeMilliseconds, 1)),
        forgone: options.forgoing.rawValue,
        paths: Installed.Paths(
          database: memory.text(files.databasePath),
          directory: memory.text(files.databasePath + "/" + PendingDumpName.directory)),
        signals: InstalledSignals(
          crashes: signals.mask, open: signals.open, faults: CrashSignals.faults,
          faultsAndWatchdog: CrashSignals.faults & ~SignalMask.bit(SIGSYS)
            | SignalMask.bit(signals.watchdogSignal),
          stop: signals.stopSignal,
          watchdog: signals.watchdogSignal, stopAction: signals.stopAction(),
          frameSize: UInt64(SignalFrame.size)),
        recordsThrows: options.recordsThrowSites,
        takesRequests: files.owningRun.takesRequests,
        environment: EnvironmentRange.current(from: files.owningRun.stackStart),
        runtime: runtimePlaces(),
        images: imagePlaces(of: facts.executablePath, memory: &memory),
        cgroup: facts.cgroup.files,
        surroundings: facts.surroundings,
        encoded: Installed.EncodedFacts(
          process: memory.tokens(facts.encodedProcess(files.reportID)),
          logged: memory.tokens(facts.encodedForLog),
          course: memory.tokens(files.owningRun.course?.encoded()),
          system: memory.tokens(facts.encodedSystem(bootID: files.owningRun.bootID))),
        faultStack: faultStack,
        // No summary is written if descriptor 2 was closed, or if the program has more privileges than the user who
        // started it. In the second case, the summary would show that user the program's addresses and file names.
        summary: CrashSummary(
          signals: options.writesSummary && hasStandardError && pm_is_secure() == 0
            ? signals.mask : 0,
          standardError: HeldFile(STDERR_FILENO),
          program: memory.ownBytes(
            (facts.product.map { $0 + " " } ?? "") + (facts.version.map { $0 + " " } ?? "")),
          command: memory.ownBytes(command(files.databasePath)),
          memory: Scratch(memory.pages(CrashSummary.byteCount), size: CrashSummary.byteCount)),
        filesOwner: (files.owner?.user ?? 0, files.owner?.group ?? 0),
        mapsRecords: files.recordMapping.isMapped, changesInodes: files.changesInodes))
    return unsafe installed
  }

  /// The command that shows a report, without the report's ID.
  ///
  /// The path is left out if the summary has no room for it, or if it contains a character other than `-./_+@%` and
  /// ASCII letters and digits, which have no special meaning in a shell.
  private static func command(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      let letter = byte | 0x20
      return (0x61...0x7A).contains(letter) || (0x2D...0x39).contains(byte)
        || "_+@%".utf8.contains(byte)
    }
    let isShown = isPlain && path.utf8.count < SummaryLines.pathLimit
    return "postmortem show " + (isShown ? "--database \(path) " : "")
  }

  private static func runtimePlaces() -> Installed.RuntimePlaces {
    var (tasks, exceptions) = (pm_task_facts(), pm_exception_facts())
    unsafe pm_find_task_facts(&tasks)
    unsafe pm_find_exception_facts(&exceptions)
    var (start, size) = (UInt64(0), UInt64(0))
    unsafe pm_find_abort(&start, &size)
    return Installed.RuntimePlaces(
      fatalMessageBuffer: UInt64(UInt(bitPattern: unsafe pm_fatal_message_buffer())),
      abortMessagePointer: UInt64(UInt(bitPattern: unsafe pm_abort_message_pointer())),
      tasks: tasks, exceptions: exceptions, abortStart: start, abortSize: size)
  }

  private static func imagePlaces(
    of program: String?, memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> Installed.ImagePlaces {
    var places = pm_image_places()
    unsafe pm_find_link_map(&places)
    return Installed.ImagePlaces(
      known: places, programPath: try memory.ownBytes(program ?? startedPath),
      pageSize: UInt64(max(sysconf(Int32(_SC_PAGESIZE)), 4096)))
  }

  /// The path with which the program was started, used if /proc does not show the executable; nil if it cannot be
  /// resolved.
  private static var startedPath: String? {
    guard let name = unsafe UnsafePointer<CChar>(bitPattern: UInt(pm_executable_name())),
      let path = unsafe realpath(name, nil)
    else { return nil }
    defer { unsafe free(path) }
    return unsafe String(cString: path)
  }

  private static func makeCapture(
    _ installed: UnsafeMutablePointer<Installed>, files: borrowing PendingDumpFiles, proc: Int32,
    options: HandlerOptions, signals: CrashSignals, memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> Capture {
    let finished = files.lockedName.with(role: .finished).description
    let shared = unsafe try makeShared(
      finished, files: files, options: options, signals: signals, memory: &memory)
    let capture = unsafe try memory.session(
      installed, shared,
      names: memory.names(of: files.lockedName),
      files: SessionFiles(
        dump: files.paired(files.heldDump), directory: files.paired(files.heldDirectory),
        fifo: files.paired(files.heldFIFO),
        proc: HeldFile(proc)),
      threads: shared.pointee.foundThreads, limits: options.limits,
      asksFile: options.forgoing.areFilesMade)
    // This session has its own names, recovery points and writer. It shares the stack, tables and buffers with
    // `capture`, so only one thread at a time may use this session or `capture`.
    let requested = try memory.session(
      sharing: capture,
      names: memory.names(of: files.lockedName, areNew: true))
    unsafe shared.pointee.requestedDump = requested.argument
    if !options.forgoing.contains(.threads) {
      capture.session.time.timer = WatchdogTimer.make(signal: signals.watchdogSignal)
    }
    capture.session.runRecord.isFollowed = files.followsRun
    capture.session.runRecord.file = files.paired(files.heldRecord)
    capture.session.runRecord.mapping = files.recordMapping
    return capture
  }

  private static func makeShared(
    _ finished: String, files: borrowing PendingDumpFiles, options: HandlerOptions,
    signals: CrashSignals, memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> UnsafeMutablePointer<Shared> {
    let run = files.owningRun
    let shared = unsafe try memory.piece(MemoryLayout<Shared>.size)
      .bindMemory(to: Shared.self, capacity: 1)
    let wordStride = HandlerMemory.wordStride
    let words = unsafe try memory.piece(10 * wordStride)
    func word(_ index: Int) -> FutexWord {
      unsafe FutexWord(
        (words + index * wordStride).bindMemory(to: UInt32.self, capacity: 1))
    }
    let (markPage, wipesMark) = unsafe try memory.pageWipedInCopies()
    let mark = unsafe FutexWord(markPage.bindMemory(to: UInt32.self, capacity: 1))
    mark.store(Shared.CopyMark.own)
    let actions = unsafe try memory.piece(65 * MemoryLayout<pm_signal_action>.stride)
      .bindMemory(to: pm_signal_action.self, capacity: 65)
    unsafe signals.copyActions(to: actions)
    let threadCapacity = min(max(options.limits.threads, 1), 4096)
    let directory = files.heldDirectory
    unsafe shared.initialize(
      to: try Shared(
        capturingThread: word(1), turn: word(2), ending: word(6), ticksLeft: word(9),
        copyMark: mark, wipesMark: wipesMark,
        stops: Shared.Stops(parking: word(3), stopped: word(4), target: word(5)),
        foundThreads: memory.threads(capacity: threadCapacity, countWord: word(0)),
        waiting: memory.threadEntries(capacity: threadCapacity),
        dumpingThreads: memory.threadEntries(capacity: 64),
        postponed: PostponedSignal(
          place: SignalInformation(memory.piece(PostponedSignal.byteCount))),
        hangDumps: HangDumps(base: memory.pages(HangDumps.byteCount)),
        stackOffers: StackOffers(
          capacity: threadCapacity, records: memory.pages(threadCapacity * StackOffers.stride),
          stackSize: AlternateStack.size, sufficientSize: AlternateStack.sufficientSize,
          count: word(7), answers: word(8)),
        process: Shared.ProcessFacts(
          id: Int32(bitPattern: run.processID),
          run: RunIdentity(
            startTime: run.startTime, stackStart: run.stackStart,
            processNamespace: run.processNamespace ?? 0, timeNamespace: run.timeNamespace ?? 0,
            launchTime: run.launchTime ?? 0, bootID: memory.bytes(Array(run.bootID.utf8)),
            bootIDCount: run.bootID.utf8.count)),
        previousActions: PreviousActions(actions: actions),
        backtracer: signals.backtracer,
        survived: Shared.SurvivedCrashes(
          report: memory.piece(16), name: UnsafeMutablePointer(mutating: memory.text(finished))),
        knownFaults: KnownFaults(base: memory.pages(KnownFaults.byteCount)),
        spares: Shared.SpareDescriptors(
          first: files.heldDatabase, second: copy(of: directory), third: copy(of: directory))))
    return unsafe shared
  }

  /// Duplicates a descriptor, to reserve a slot in the descriptor table; returns an empty `HeldFile` if the table is
  /// full.
  private static func copy(of file: HeldFile) -> HeldFile {
    let descriptor = fcntl(file.descriptor, F_DUPFD_CLOEXEC, 0)
    return descriptor >= 0 ? HeldFile(descriptor, identity: file.identity) : HeldFile()
  }
}

extension SignalInformation {
  fileprivate init(_ address: UnsafeMutableRawPointer) {
    unsafe self.address = address
  }
}
