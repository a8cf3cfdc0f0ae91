internal import CSignalSafe
internal import IntermediateDump
internal import PendingDumps

/// A dump that `postmortem capture` requests by the stop signal, of a process that goes on.
///
/// The thread that gets the signal takes it, in the signal's handler, as the owner of the handler's
/// stack and tables, but with a file and names of its own. A request that comes while another
/// thread captures, or to a thread that dumps already, is dropped: its sender has a deadline.
///
/// RUNS-DURING-CRASH. Source: `LiveDump`, which does it in ordinary code; decision 0055.
@safe
struct RequestedDump {
  private let handlers: Capture
  private let request: CaptureRequest

  @_noLocks
  init(_ handlers: Capture, _ request: CaptureRequest) {
    self.handlers = handlers
    self.request = request
  }

  /// The request that came with a signal; nil for another one.
  ///
  /// The kernel lets only the same user and root send it; what a siginfo says of its sender is the
  /// sender's own word, and not looked at.
  @_noLocks
  static func request(of signal: DeliveredSignal) -> CaptureRequest? {
    guard let information = signal.information, information.code == SI_QUEUE else { return nil }
    return CaptureRequest(value: information.value)
  }

  /// Takes it, and leaves the thread as it was.
  @_noLocks
  func take(_ signal: DeliveredSignal) {
    let threadID = pm_gettid()
    // The owner that is not in the table of threads that dump takes a crash signal that somebody
    // sends for one within its own crash, and drops it: it waits in the kernel instead.
    blockFaults(handlers)
    guard handlers.installed.takesRequests, let dump = handlers.shared.requestedDump,
      handlers.shared.ending.value == 0,
      handlers.shared.dumpingThreads.capture(of: threadID) == nil,
      handlers.shared.capturingThread.exchange(expected: 0, desired: UInt32(bitPattern: threadID))
        == 0
    else { return }
    prepare(dump, signal, threadID)
    let room = MemoryRoom(handlers.installed.cgroup, handlers.calls, dump.session.scratch)
    if room.isEnough, handlers.shared.dumpingThreads.add(threadID, dump) {
      let hadFileSignal = (SignalMask.pending ?? 0) & OwnWriting.fileSizeSignal != 0
      dump.session.time.timer = WatchdogTimer.make(beside: handlers, for: threadID)
      unsafe pm_call_on_stack(dump.session.stackTop, pm_capture_dump, dump.argument)
      blockFaults(handlers)
      deleteTimer(dump)
      // Of our own write.
      if dump.session.outcome.failure == EFBIG && !hadFileSignal {
        SignalMask.take(OwnWriting.fileSizeSignal)
      }
      handlers.shared.dumpingThreads.remove(threadID)
      close(dump)
    }
    handlers.shared.threads.removeAll()
    handlers.shared.waiting.signal.sendAgain(threadID, of: handlers.shared.process.id)
    handlers.shared.capturingThread.store(0)
    CrashEnd(handlers).wakeWaiting()
  }

  private func prepare(_ dump: Capture, _ signal: DeliveredSignal, _ threadID: Int32) {
    dump.session.request = DumpRequest()
    dump.session.request.kind = .tool
    dump.session.request.stops = request.stopsThreads ? .all : .none
    dump.session.request.number = request.number
    dump.session.exception = CapturedException()
    dump.session.exception.signal = DeliveredSignal(context: signal.context)
    dump.session.exception.threadID = threadID
    dump.session.exception.entryTime = dump.clock
    dump.session.files.dump = HeldFile()
    dump.session.files.directory = handlers.session.files.directory
    dump.session.files.fifo = HeldFile()
    dump.session.files.proc = handlers.session.files.proc
    dump.session.files.isMissing = true
    dump.session.runRecord.mapping = RecordMapping()
    dump.session.progress = Progress()
    dump.session.outcome = DumpOutcome()
    dump.session.time = CaptureClock()
    dump.session.hasFaultStack = false
    Rearming(dump).reset()
    dump.session.pages.removeAll()
  }

  private func deleteTimer(_ dump: Capture) {
    guard dump.session.time.timer >= 0 else { return }
    _ = pm_timer_delete(dump.session.time.timer)
    dump.session.time.timer = -1
  }

  /// Closes what the dump has opened, and removes the files of one that did not become whole.
  private func close(_ dump: Capture) {
    let files = dump.session.files
    if !dump.session.outcome.isComplete { DumpFile(dump).discard() }
    DumpFile(dump).close()
    dump.session.runRecord.mapping.remove()
    if dump.isSame(files.fifo) { _ = pm_close(files.fifo.descriptor) }
    closeOther(files.directory, than: handlers.session.files.directory)
    closeOther(files.proc, than: handlers.session.files.proc)
  }

  /// Closes a directory that the dump has opened because the handler's own was closed.
  private func closeOther(_ file: HeldFile, than own: HeldFile) {
    guard file.descriptor != own.descriptor, handlers.isSame(file) else { return }
    _ = pm_close(file.descriptor)
  }
}
