internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
internal import PendingDumps

/// One dump of a process that has not crashed, with its own session, memory and file.
///
/// Not crash code, except for `take`, which calls only crash code while threads are stopped. When this value is
/// destroyed, its memory is unmapped, and the files that it opened are closed.
@safe
struct LiveDump: ~Copyable {
  /// The maximum time, in nanoseconds, that a dump that stops threads waits for other such dumps or for a crash.
  private static let longestWaitNanoseconds: UInt64 = 60_000_000_000

  private let memory: HandlerMemory
  let capture: Capture
  private let context: UnsafeMutableRawPointer
  private let threadID: Int32
  /// The handler's descriptors, which this dump uses but must not close.
  private let borrowed: (directory: Int32, proc: Int32)

  /// Prepares a dump.
  ///
  /// - Parameters:
  ///   - request: what the dump is for, and which threads are stopped.
  ///   - details: the reason, the error and the annotations that the program gave for the dump; nil for none.
  ///   - subject: the thread that comes first in the report; nil for the calling thread.
  ///   - name: the name of the hung part of the program; empty if the dump is not about a hang.
  ///   - suffix: the suffix of the finished file's name, such as `.hang`.
  init(
    _ request: DumpRequest, name: String = "", details: DumpDetails? = nil, subject: Int32? = nil,
    suffix: String = ""
  ) throws(CrashHandlerError) {
    guard let handlers = Capture.ofHandler else { throw CrashHandlerError.handlerNotStarted }
    guard handlers.becomeOwnProcess() else {
      throw CrashHandlerError(
        .notStarted, "this process shares its parent's memory and handler (vfork)")
    }
    let threadID = pm_gettid()
    let found = handlers.tasks(for: request) + handlers.fileLocks
    var memory = try HandlerMemory(capacity: HandlerMemory.captureSize + found.count)
    let context = unsafe try memory.pages(Int(PM_CAPTURED_CONTEXT_SIZE))
    let bytes = Array(name.utf8.prefix(128))
    let capture = try Self.session(for: request, of: handlers, suffix, memory: &memory)
    capture.session.request = request
    unsafe capture.session.request.name = try memory.bytes(bytes)
    capture.session.request.nameCount = bytes.count
    if let details { capture.session.request.details = try memory.tokens(details.request) }
    capture.session.request.annotations = try memory.tokens((details?.annotations ?? []) + found)
    capture.session.exception.threadID = subject ?? threadID
    if subject == nil {
      capture.session.exception.signal = unsafe DeliveredSignal(context: SignalContext(context))
    }
    borrowed = (
      handlers.session.files.directory.descriptor, handlers.session.files.proc.descriptor
    )
    self.threadID = threadID
    self.capture = capture
    unsafe self.context = context
    self.memory = memory
  }

  /// Creates a session for the dump in `memory`, separate from the handler's session for crashes.
  private static func session(
    for request: DumpRequest, of handlers: Capture, _ suffix: String,
    memory: inout HandlerMemory
  ) throws(CrashHandlerError) -> Capture {
    let names = handlers.session.names
    // A report ID that is chosen later, for this dump, replaces the ID in these names.
    let finished = unsafe String(cString: names.finished) + suffix
    // If threads are stopped, the handler's table is used, because stopped threads look themselves up in that table.
    // Otherwise, the dump has its own table.
    let threads =
      unsafe try request.stopsThreads
      ? handlers.shared.foundThreads
      : memory.threads(
        capacity: handlers.shared.foundThreads.capacity,
        countWord: FutexWord(memory.pages(4).bindMemory(to: UInt32.self, capacity: 1)))
    return unsafe try memory.session(
      beside: handlers,
      names: DumpNames(
        locked: memory.text(String(cString: names.locked)), finished: memory.text(finished),
        runRecord: memory.text(String(cString: names.runRecord)),
        fifo: memory.text(String(cString: names.fifo)), reportIDOffset: names.reportIDOffset,
        reportID: memory.pages(16), areNew: true),
      files: SessionFiles(
        dump: HeldFile(), directory: handlers.session.files.directory, fifo: HeldFile(),
        proc: handlers.session.files.proc, isMissing: true),
      threads: threads)
  }

  deinit {
    let timer = capture.session.time.timer
    if timer >= 0 { _ = pm_timer_delete(timer) }
    capture.closeDumpFile()
    capture.session.runRecord.mapping.remove()
    let files = capture.session.files
    capture.close(files.fifo)
    // If the program had closed or reused the handler's descriptors, the dump opened these directories itself, and
    // closes them here.
    let (directory, proc) = (files.directory.descriptor, files.proc.descriptor)
    if directory >= 0 && directory != borrowed.directory { close(directory) }
    if proc >= 0 && proc != borrowed.proc { close(proc) }
  }

  /// Makes the dump write to an open file instead of a file in the pending directory.
  func redirect(to descriptor: Int32) {
    capture.chooseReportID()
    capture.session.files.isMissing = false
    capture.session.request.isRenamed = false
    capture.session.files.dump = capture.hold(descriptor)
    capture.writer.redirect(to: descriptor)
  }

  /// Takes the dump.
  ///
  /// During the dump, the calling thread blocks all signals except faults and the watchdog's signal. Otherwise, one of
  /// the program's signal handlers could leave through siglongjmp while other threads are stopped, or SIGXFSZ could end
  /// a process that has not crashed. Faults that the thread has blocked itself stay blocked, because one may be
  /// pending; memory is then not copied with plain load instructions.
  ///
  /// - Throws: `CrashHandlerError.dumpFailed` if the file is incomplete (it is then removed), if the memory cgroup has
  ///   no room for a dump, or if a crash or other dumps keep this dump from stopping threads.
  func take() throws(CrashHandlerError) -> ReportID {
    let room = MemoryRoom(capture)
    guard room.isEnough else {
      throw CrashHandlerError(.dumpFailed, "the memory cgroup has no room for a dump")
    }
    let faults = capture.installed.signals.faults
    let writing = OwnWriting(raisesLimit: false, blocking: ~faults)
    defer { writing.finish() }
    let mask = writing.previousMask ?? 0
    capture.session.hasFaultStack = mask & faults == 0
    let stops = capture.session.request.stopsThreads
    if stops {
      capture.session.time.timer = Capture.ofHandler?.makeTimer(for: threadID) ?? -1
      SignalMask.unblock(capture.tick)
    }
    // The context is captured before the thread is added to the table. If another thread crashes during this dump, the
    // crash's dump then shows this thread with that context.
    unsafe pm_capture_context(context)
    unsafe pm_context_set_signal_mask(context, mask)
    enter()
    defer { capture.shared.dumpingThreads.remove(threadID) }
    if stops { try becomeCapturing() }
    capture.session.exception.entryTime = pm_monotonic_clock()
    unsafe pm_call_on_stack(
      capture.session.stackTop, pm_capture_dump, capture.argument)
    if stops { leave() }
    let reportID = try reportID()
    OutcomeCounters.count(\.written)
    return reportID
  }

  /// Gives a hang's dump its final name, which `take` does not do.
  ///
  /// The dump may get a new report ID, if its file was removed while the dump was written.
  ///
  /// - Throws: `CrashHandlerError.dumpFailed` if the file cannot be renamed; the file is then removed, because
  ///   `HangDump.drop` and `HangDump.keep` need the final name.
  func rename() throws(CrashHandlerError) -> ReportID {
    capture.session.result.isRenamed = capture.finishDump()
    guard capture.session.result.isRenamed else { throw discarded() }
    return try reportID()
  }

  /// Adds the calling thread to the table of threads that take dumps; waits until the table has a free entry.
  private func enter() {
    let threads = capture.shared.dumpingThreads
    while unsafe !threads.add(threadID, ThreadEntries.Value(capture.argument)) { usleep(1000) }
  }

  /// Waits until neither a crash nor another dump stops threads, then makes the calling thread the capturing thread.
  private func becomeCapturing() throws(CrashHandlerError) {
    let deadline = pm_monotonic_clock() + Self.longestWaitNanoseconds
    while true {
      let turn = capture.shared.turn.value
      // A thread that waits to capture its crash comes first, so this dump waits as long as there is such a thread.
      if capture.shared.waiting.isEmpty,
        capture.shared.beginTurn(threadID) == 0
      {
        break
      }
      guard capture.shared.ending.value == 0, pm_monotonic_clock() < deadline else {
        throw CrashHandlerError(.dumpFailed, "a crash or another dump is stopping threads")
      }
      capture.shared.turn.wait(while: turn, milliseconds: 100)
      Capture.ofHandler?.replaceLostThread()
    }
    capture.shared.foundThreads.removeAll()
  }

  private func leave() {
    capture.shared.foundThreads.removeAll()
    capture.shared.endTurn()
  }

  private func reportID() throws(CrashHandlerError) -> ReportID {
    // A complete dump that could not be renamed does not count as a failure. It ends with an end mark, so it is
    // converted to a report after this process has ended.
    guard capture.session.result.isComplete else { throw discarded() }
    let bytes = unsafe UnsafeRawBufferPointer(start: capture.session.names.reportID, count: 16)
    guard let reportID = unsafe ReportID(bytes: Array(bytes)) else {
      throw CrashHandlerError(.dumpFailed, "no report ID; this is a bug")
    }
    return reportID
  }

  /// Removes the dump's files, and returns the error to throw.
  private func discarded() -> CrashHandlerError {
    let result = capture.session.result
    if result.hasFile { capture.discardDump() }
    return CrashHandlerError(.dumpFailed, "the dump could not be written", errno: result.failure)
  }
}

extension ThreadEntries {
  /// True if no thread waits.
  fileprivate var isEmpty: Bool { (0..<count).allSatisfy { word($0).value == 0 } }
}

extension Capture {
  /// The file locks for which threads of this process wait, as tokens; empty if dumps leave out secrets.
  fileprivate var fileLocks: [UInt8] {
    guard !installed.isSanitized, mayMake(CallBit.files), mayMake(CallBit.proc) else { return [] }
    return FileLockSearch.waits(of: "self").tokens
  }
}
