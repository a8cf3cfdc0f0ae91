internal import CSignalSafe
internal import IntermediateDump
internal import PendingDumps

extension DeliveredSignal {
  /// The request for a dump that the signal carries; nil if the signal carries no request.
  ///
  /// The kernel lets only the process's own user and processes with CAP_KILL, such as root's, send this signal. The
  /// sender's ID in `siginfo_t` is not checked, because the sender itself sets it.
  var captureRequest: CaptureRequest? {
    @_noLocks get {
      guard let information, information.code == SI_QUEUE else { return nil }
      return CaptureRequest(value: information.value)
    }
  }
}

/// Takes a dump that `postmortem capture` has requested by sending the stop signal; the process continues.
///
/// The thread that gets the signal takes the dump in the stop handler, as the capturing thread. The dump uses the
/// crash handler's stack and tables, but a separate file and separate names.
///
/// The request is dropped if the handler does not take requests, another thread is capturing, this thread is already
/// taking a dump, or the process is ending. It is also dropped if the memory cgroup has no room for a dump, or
/// `Shared.dumpingThreads` is full. The sender then waits in vain until its deadline.
///
/// RUNS-DURING-CRASH. `LiveDump` does the same in ordinary code; see Docs/Decisions/19-dumps-without-a-crash.md.
extension Capture {
  /// Makes this thread the capturing thread, takes the requested dump, and then lets other threads capture again.
  ///
  /// Call this on the handler's `Capture`, not on the dump's `Capture`.
  @_noLocks
  func takeRequestedDump(_ request: CaptureRequest, on signal: DeliveredSignal) {
    let threadID = pm_gettid()
    // This thread becomes the capturing thread before it is added to the table of dumping threads. If the program sent
    // this thread a crash signal in between, the handler would assume that the signal interrupts the capture of a
    // crash, and would end the process without a dump. So crash signals except SIGSYS are blocked here, and stay
    // pending.
    blockFaultsAndWatchdog()
    guard installed.takesRequests, let argument = unsafe shared.requestedDump,
      shared.ending.value == 0, liveDump(takenBy: threadID) == nil,
      shared.beginTurn(threadID) == 0
    else { return }
    let dump = unsafe Capture(argument)
    dump.prepareRequestedDump(request, signal, threadID, beside: self)
    let room = MemoryRoom(dump)
    if room.isEnough, unsafe shared.dumpingThreads.add(threadID, ThreadEntries.Value(argument)) {
      let raised = RaisedSignals(blocked: signal.context?.signalMask ?? .max)
      dump.session.time.timer = makeTimer(for: threadID)
      unsafe pm_call_on_stack(dump.session.stackTop, pm_capture_dump, argument)
      blockFaultsAndWatchdog()
      _ = pm_timer_delete(dump.session.time.timer)
      raised.takeBack()
      shared.dumpingThreads.remove(threadID)
      dump.closeRequestedDump(beside: self)
    }
    shared.foundThreads.removeAll()
    shared.postponed.sendAgain(threadID, of: shared.process.id)
    shared.endTurn()
  }

  private func prepareRequestedDump(
    _ request: CaptureRequest, _ signal: DeliveredSignal, _ threadID: Int32,
    beside handlers: Capture
  ) {
    session.request = DumpRequest()
    session.request.kind = .tool
    session.request.stops = request.stopsThreads ? .all : .running
    session.request.number = request.number
    session.exception = CapturedException()
    session.exception.signal = DeliveredSignal(context: signal.context)
    session.exception.threadID = threadID
    session.exception.entryTime = clock
    session.files.dump = HeldFile()
    session.files.directory = handlers.session.files.directory
    session.files.fifo = HeldFile()
    session.files.proc = handlers.session.files.proc
    session.files.isMissing = true
    session.runRecord.mapping = RecordMapping()
    session.time = CaptureClock()
    session.begin()
    session.reset()
  }

  /// Closes the files that the dump has opened, and removes the files of an incomplete dump.
  private func closeRequestedDump(beside handlers: Capture) {
    let files = session.files
    if !session.result.isComplete { discardDump() }
    closeDumpFile()
    session.runRecord.mapping.remove()
    close(files.fifo)
    handlers.closeOther(files.directory, than: handlers.session.files.directory)
    handlers.closeOther(files.proc, than: handlers.session.files.proc)
  }

  /// Closes a directory that the dump has opened because the handler's own descriptor was closed.
  private func closeOther(_ file: HeldFile, than own: HeldFile) {
    if file.descriptor != own.descriptor { close(file) }
  }
}
