internal import CSignalSafe
internal import Glibc
internal import IntermediateDump

/// One dump without a crash: a state, memory and a file of its own beside the handler's.
///
/// Ordinary code, but for `take`, which calls crash code and makes no other calls while threads
/// stand still. Dropping it unmaps the memory and closes what it opened.
@safe
struct LiveDump: ~Copyable {
  /// Nanoseconds that a dump which stops threads waits for others that do.
  private static let patience: UInt64 = 60_000_000_000

  private let memory: HandlerMemory
  private let main: UnsafeMutablePointer<HandlerState>
  let state: UnsafeMutablePointer<HandlerState>
  private let context: UnsafeMutableRawPointer
  private let threadID: Int32

  /// Prepares a dump.
  ///
  /// - Parameters:
  ///   - request: why, and which threads are stopped.
  ///   - subject: the thread that comes first in the report; nil for the calling one.
  ///   - name: of what hung.
  ///   - suffix: what the finished file's name ends in.
  init(
    _ request: DumpRequest, name: String = "", subject: Int32? = nil, suffix: String = ""
  ) throws(CrashHandlerError) {
    guard let address = unsafe pm_state() else {
      throw CrashHandlerError.handlerNotStarted
    }
    let main = unsafe address.assumingMemoryBound(to: HandlerState.self)
    guard unsafe OwnProcess(main).become() else {
      throw CrashHandlerError(
        .notStarted, "this process runs in another one's memory, and has its handler")
    }
    let threadID = pm_gettid()
    var memory = try HandlerMemory(capacity: HandlerMemory.captureSize)
    let state = unsafe try memory.pages(MemoryLayout<HandlerState>.size)
      .bindMemory(to: HandlerState.self, capacity: 1)
    let context = unsafe try memory.pages(Int(PM_CAPTURED_CONTEXT_SIZE))
    // Threads that are stopped find themselves in the handler's own table.
    let threads =
      unsafe try request.stops == .none
      ? memory.threads(
        capacity: main.pointee.threads.capacity,
        countWord: FutexWord(memory.pages(4).bindMemory(to: UInt32.self, capacity: 1)))
      : main.pointee.threads
    unsafe try Self.fill(state, from: main, threads: threads, suffix: suffix, memory: &memory)
    let bytes = Array(name.utf8.prefix(128))
    unsafe state.pointee.writer.asksFile = main.pointee.writer.asksFile
    unsafe state.pointee.mapsRecords = main.pointee.mapsRecords
    unsafe state.pointee.filesOwner = main.pointee.filesOwner
    unsafe state.pointee.timer = Self.timer(request, main, for: threadID)
    unsafe state.pointee.request = request
    unsafe state.pointee.request.name = try memory.bytes(bytes)
    unsafe state.pointee.request.nameCount = bytes.count
    unsafe state.pointee.threadID = subject ?? threadID
    if subject == nil { unsafe state.pointee.context = context }
    self.threadID = threadID
    unsafe self.main = main
    unsafe self.state = state
    unsafe self.context = context
    self.memory = memory
  }

  /// One whose signal goes to the dumping thread alone: it comes every 10 ms, and would end calls of
  /// threads that are not stopped.
  private static func timer(
    _ request: DumpRequest, _ main: UnsafeMutablePointer<HandlerState>, for threadID: Int32
  ) -> Int32 {
    var timer: Int32 = -1
    guard request.stops != .none, unsafe main.pointee.timer >= 0,
      unsafe pm_timer_create(main.pointee.watchdogSignal, threadID, &timer) == 0
    else { return -1 }
    return timer
  }

  private static func fill(
    _ state: UnsafeMutablePointer<HandlerState>, from main: UnsafeMutablePointer<HandlerState>,
    threads: ThreadTable, suffix: String, memory: inout HandlerMemory
  ) throws(CrashHandlerError) {
    let stack = unsafe try memory.stack(HandlerMemory.captureStackSize)
    // The report ID in them is chosen by the dump.
    let finished = unsafe String(cString: main.pointee.finishedName) + suffix
    unsafe state.initialize(
      to: try HandlerState(
        processID: main.pointee.processID, copyMark: main.pointee.copyMark,
        wipesMark: main.pointee.wipesMark, isForkedChild: main.pointee.isForkedChild,
        needsFile: true, hasNewReportID: true, run: main.pointee.run,
        limits: main.pointee.limits, forgone: main.pointee.forgone,
        databasePath: main.pointee.databasePath,
        folderPath: main.pointee.folderPath,
        lockedName: memory.text(String(cString: main.pointee.lockedName)),
        finishedName: memory.text(finished),
        runRecordName: memory.text(String(cString: main.pointee.runRecordName)),
        fifoName: memory.text(String(cString: main.pointee.fifoName)),
        reportIDOffset: main.pointee.reportIDOffset, reportID: memory.pages(16),
        fileDescriptor: -1, fileIdentity: FileIdentity(of: -1),
        folderDescriptor: main.pointee.folderDescriptor,
        folderIdentity: main.pointee.folderIdentity,
        fifoDescriptor: -1, fifoIdentity: FileIdentity(of: -1),
        procDescriptor: main.pointee.procDescriptor, procIdentity: main.pointee.procIdentity,
        timeLimit: main.pointee.timeLimit, watchdogSignal: main.pointee.watchdogSignal,
        timer: -1, spareDescriptors: (-1, -1),
        spareIdentity: FileIdentity(of: -1), stopAction: main.pointee.stopAction,
        stopSignal: main.pointee.stopSignal, previousActions: main.pointee.previousActions,
        crashSignals: main.pointee.crashSignals, openSignals: main.pointee.openSignals,
        environmentStart: main.pointee.environmentStart,
        environmentEnd: main.pointee.environmentEnd,
        fatalMessageBuffer: main.pointee.fatalMessageBuffer,
        abortMessagePointer: main.pointee.abortMessagePointer,
        taskFacts: main.pointee.taskFacts, exceptionFacts: main.pointee.exceptionFacts,
        stackOffers: main.pointee.stackOffers, controlGroup: main.pointee.controlGroup,
        linkDebugAddress: main.pointee.linkDebugAddress,
        dynamicSection: main.pointee.dynamicSection,
        dynamicSectionSize: main.pointee.dynamicSectionSize,
        encodedProcess: main.pointee.encodedProcess,
        encodedProcessCount: main.pointee.encodedProcessCount,
        encodedCourse: main.pointee.encodedCourse, encodedCourseCount: 0,
        encodedFacts: main.pointee.encodedFacts,
        encodedFactsCount: main.pointee.encodedFactsCount,
        captureStackTop: stack + HandlerMemory.captureStackSize,
        faultStack: main.pointee.faultStack, faultStackSize: main.pointee.faultStackSize,
        landingPads: memory.landingPads(),
        threads: threads,
        mappings: memory.mappings(), scratch: memory.pages(HandlerMemory.scratchSize),
        scratchSize: HandlerMemory.scratchSize, lastWords: main.pointee.lastWords,
        owner: main.pointee.owner, turn: main.pointee.turn, ending: main.pointee.ending,
        parking: main.pointee.parking, stopped: main.pointee.stopped,
        stopTarget: main.pointee.stopTarget, waiting: main.pointee.waiting,
        dumpingThreads: main.pointee.dumpingThreads, hangDumps: main.pointee.hangDumps,
        writer: memory.writer(to: -1, limits: main.pointee.limits),
        precedingReport: main.pointee.precedingReport,
        precedingName: main.pointee.precedingName,
        knownFaults: main.pointee.knownFaults))
  }

  deinit {
    if unsafe state.pointee.timer >= 0 { _ = unsafe pm_timer_delete(state.pointee.timer) }
    unsafe DumpFile(state).close()
    unsafe state.pointee.recordMapping.remove()
    if unsafe state.pointee.fifoIdentity.isOf(state.pointee.fifoDescriptor, linked: false) {
      close(unsafe state.pointee.fifoDescriptor)
    }
    // Opened again by the dump, where the handler's own are not its own any more.
    let (folder, proc) = unsafe (state.pointee.folderDescriptor, state.pointee.procDescriptor)
    if unsafe folder >= 0 && folder != main.pointee.folderDescriptor { close(folder) }
    if unsafe proc >= 0 && proc != main.pointee.procDescriptor { close(proc) }
  }

  /// Makes the dump go to an open file instead of the pending folder.
  func redirect(to descriptor: Int32) {
    unsafe ReportName(state).choose()
    unsafe state.pointee.needsFile = false
    unsafe state.pointee.request.isRenamed = false
    unsafe state.pointee.fileDescriptor = descriptor
    unsafe state.pointee.fileIdentity = FileIdentity(of: descriptor)
    unsafe state.pointee.writer.redirect(to: descriptor)
  }

  /// Takes the dump.
  ///
  /// The calling thread's signals wait meanwhile, but for faults and those of the handler: a signal
  /// handler of the program that leaves by siglongjmp would leave other threads stopped, and the
  /// kernel's XFSZ must not end a process that did not crash.
  ///
  /// - Throws: `CrashHandlerError.dumpFailed` if the file did not become whole; it is removed then.
  func take() throws(CrashHandlerError) -> ReportID {
    var mask = unsafe ~state.pointee.openSignals
    var previous: UInt64 = 0
    var pending: UInt64 = 0
    // SIG_SETMASK
    _ = unsafe pm_sigprocmask(2, &mask, &previous)
    _ = unsafe pm_sigpending(&pending)
    defer {
      var fileSize: UInt64 = 1 << 24  // XFSZ, of our own write
      if unsafe pending & fileSize == 0 && state.pointee.outcome.failure == EFBIG {
        _ = unsafe pm_take_signal(&fileSize)
      }
      _ = unsafe pm_sigprocmask(2, &previous, nil)
    }
    // Before the thread is known as one that dumps: a crash shows it by this context.
    unsafe pm_capture_context(context)
    unsafe pm_context_set_signal_mask(context, previous)
    enter()
    defer { unsafe main.pointee.dumpingThreads.remove(threadID) }
    let stops = unsafe state.pointee.request.stops != .none
    if stops { try becomeOwner() }
    unsafe state.pointee.entryTime = pm_monotonic_clock()
    unsafe pm_call_on_stack(
      state.pointee.captureStackTop, pm_capture_dump, UnsafeMutableRawPointer(state))
    if stops { leave() }
    return try result()
  }

  /// Waits for an entry in the table of threads that dump.
  private func enter() {
    let threads = unsafe main.pointee.dumpingThreads
    while true {
      let freed = threads.freed.value
      if unsafe threads.add(threadID, state) { return }
      threads.freed.wait(while: freed, milliseconds: 100)
    }
  }

  /// Makes sure that nobody else stops threads: a crash, or another dump.
  private func becomeOwner() throws(CrashHandlerError) {
    let thread = UInt32(bitPattern: threadID)
    let deadline = pm_monotonic_clock() + Self.patience
    while true {
      let turn = unsafe main.pointee.turn.value
      // A crash that waits comes first: it waits for ten seconds at most.
      if unsafe WaitingCrashes(main).isEmpty,
        unsafe main.pointee.owner.exchange(expected: 0, desired: thread) == 0
      {
        break
      }
      guard unsafe main.pointee.ending.value == 0, pm_monotonic_clock() < deadline else {
        throw CrashHandlerError(.dumpFailed, "others stop threads: a crash, or other dumps")
      }
      unsafe main.pointee.turn.wait(while: turn, milliseconds: 100)
    }
    unsafe main.pointee.threads.removeAll()
    // Stops are numbered, by whoever stops.
    unsafe state.pointee.stopCount = main.pointee.stopCount
  }

  private func leave() {
    unsafe main.pointee.stopCount = state.pointee.stopCount
    unsafe main.pointee.threads.removeAll()
    unsafe main.pointee.owner.store(0)
    unsafe CrashEnd(main).wakeWaiting()
  }

  private func result() throws(CrashHandlerError) -> ReportID {
    let outcome = unsafe state.pointee.outcome
    let isWhole =
      unsafe outcome.isComplete && (outcome.isRenamed || !state.pointee.request.isRenamed)
    guard isWhole else {
      if unsafe outcome.hasFile && state.pointee.request.isRenamed { removeFiles() }
      throw CrashHandlerError(
        .dumpFailed, "the dump could not be written", errorNumber: outcome.failure)
    }
    let bytes = unsafe UnsafeRawBufferPointer(start: state.pointee.reportID, count: 16)
    guard let reportID = unsafe ReportID(bytes: Array(bytes)) else {
      throw CrashHandlerError(.dumpFailed, "no report ID; this is a bug")
    }
    return reportID
  }

  private func removeFiles() {
    let folder = unsafe state.pointee.folderDescriptor
    unsafe unlinkat(folder, state.pointee.lockedName, 0)
    unsafe unlinkat(folder, state.pointee.runRecordName, 0)
    unsafe unlinkat(folder, state.pointee.fifoName, 0)
  }
}
