internal import CSignalSafe
internal import Glibc
internal import IntermediateDump
public import PendingDumps
internal import Synchronization

extension Handler {
  /// Finds out whether a crash would be captured, for example whether other code has replaced this package's handlers,
  /// or whether threads block crash signals.
  ///
  /// Libraries also install handlers, and a thread can block the signals of a crash. So read this property and log
  /// the result after all libraries are set up, and again after seccomp filters are set up. With a hundred threads,
  /// reading the property takes a millisecond, because it examines each signal's action, and one small file in `/proc`
  /// for each thread. Any thread may read this property, but never in a signal handler. The findings include a handler
  /// that was installed later even if it calls this package's handler, because such calls cannot be detected.
  ///
  /// Source: sigaction(2), proc_pid_status(5).
  public var status: HandlerStatus {
    guard let capture = Capture.ofHandler else {
      return HandlerStatus(findings: [
        HandlerStatus.Finding(.notStarted, "this process has no handler")
      ])
    }
    var findings: [HandlerStatus.Finding] = []
    let ours = capture.installed.signals.crashAction.handler
    for signal in SignalSet(mask: capture.installed.signals.crashes).signals {
      guard let other = otherHandler(of: signal, than: ours) else { continue }
      findings.append(
        HandlerStatus.Finding(
          .replaced, signal: signal,
          "\(SignalNames.text(signal)) no longer has this package's handler: \(described(other))"))
    }
    let signals = [
      (
        capture.installed.signals.stop, capture.installed.signals.stopAction.handler,
        "stops threads"
      ),
      (
        capture.installed.signals.watchdog, capture.installed.signals.watchdogAction.handler,
        "limits the time"
      ),
    ]
    for (signal, handler, purpose) in signals where signal != 0 {
      guard let other = otherHandler(of: signal, than: handler) else { continue }
      findings.append(
        HandlerStatus.Finding(
          .stopSignalTaken, signal: signal,
          "signal \(signal), which \(purpose) in a crash, was taken: \(described(other))"))
    }
    let threads = ThreadSignals.threads(of: "self")
    findings += HandlerStatus.Finding.blocked(threads)
    if pm_abort_opens_its_signal() == 0,
      SignalMask.has(capture.installed.signals.crashes, SIGABRT),
      let finding = HandlerStatus.Finding.abortBlocked(
        threads, keepsOpen: SignalMask.has(pm_kept_open(), SIGABRT))
    {
      findings.append(finding)
    }
    findings += HandlerStatus.Finding.blockedInHandlers(otherThan: ours)
    if let error = HandlerStatus.errorOfProc(capture) {
      findings.append(
        HandlerStatus.Finding(
          .procClosed,
          "/proc cannot be read (\(systemErrorText(error))): a crash would have no mappings, other threads "
            + "or open files"))
    }
    let dump = capture.session.files.dump
    if capture.installed.changesInodes, dump.twin >= 0, !dump.hasTwin {
      findings.append(
        HandlerStatus.Finding(
          .filesNotRecognized,
          "the database's file system changes inode numbers, and the kernel refuses kcmp: the handler does not "
            + "recognize its files, and a dump may be lost"))
    }
    let refused = ThreadStack.refused.load(ordering: .relaxed)
    if refused > 0 {
      findings.append(
        HandlerStatus.Finding(
          .noAlternateStack,
          "\(refused) threads got no alternate stack, most likely because memory had run out: an "
            + "overflow of their stack kills the process without a dump"))
    }
    if capture.installed.recordsThrows, !pm_tells_throws() {
      findings.append(
        HandlerStatus.Finding(
          .throwsNotRecorded, "the Swift runtime has no hook for throws: throws are not recorded"))
    }
    if let obstacle = UploadObstacle.current {
      findings.append(HandlerStatus.Finding(.noUploads, obstacle))
    }
    return HandlerStatus(findings: findings)
  }

  /// Installs the handler again for each crash signal whose handler was replaced after `startHandler`.
  ///
  /// The handlers that had replaced this package's handler are no longer called. Handlers installed before
  /// `startHandler` still run after the dump. The handlers for the signal that stops threads and for the watchdog's
  /// signal are not installed again. Any thread may call this function, but never in a signal handler.
  ///
  /// - Returns: the numbers of the signals whose handler was installed again, in ascending order; empty if all
  ///   handlers were in place or this process has no handler. A signal whose handler could not be installed is left
  ///   out; `status` still lists it.
  ///
  /// Source: sigaction(2).
  @discardableResult
  public func reinstall() -> [Int32] {
    guard let capture = Capture.ofHandler else { return [] }
    let ours = capture.installed.signals.crashAction.handler
    return SignalSet(mask: capture.installed.signals.crashes).signals.filter { signal in
      otherHandler(of: signal, than: ours) != nil
        && CrashSignals.install(signal, insteadOf: capture.shared.previousActions[signal]) == 0
    }
  }

  /// How many dumps this process has written, and how many reports it has created and sent.
  public var counters: OutcomeCounters { .current }
}

extension HandlerStatus {
  /// Opens and closes the files in /proc that the handler opens first in a crash; returns the error number if that
  /// fails.
  ///
  /// The result is nil if the files can be opened, or if `forgoing` excludes opening files in /proc.
  fileprivate static func errorOfProc(_ capture: Capture) -> Int32? {
    guard capture.mayMake(CallBit.proc) else { return nil }
    let isHeld = capture.isSame(capture.session.files.proc)
    let opened = isHeld ? -1 : unsafe open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer { if opened >= 0 { close(opened) } }
    let proc = isHeld ? capture.proc : ProcReader(proc: opened)
    let found = [
      proc.open(named: "thread-self/maps"), proc.open(named: "self/task", directory: true),
    ]
    for descriptor in found where descriptor >= 0 { close(descriptor) }
    return found.first { $0 < 0 }.map { 0 - $0 }
  }
}

extension HandlerStatus.Finding {
  /// True if a file has another inode number when the kernel is asked again.
  package static func changesInode(_ path: String) -> Bool {
    var (first, second) = (pm_file_status(), pm_file_status())
    return unsafe pm_stat_at(AT_FDCWD, path, AT_STATX_FORCE_SYNC, &first) == 0
      && pm_stat_at(AT_FDCWD, path, AT_STATX_FORCE_SYNC, &second) == 0
      && first.device == second.device && first.inode != second.inode
  }

  /// Finds each thread that blocks signals of faults.
  ///
  /// A thread that also blocks signal 32 is left out. A program cannot block signal 32 through libc, so libc itself has
  /// set this thread's mask. In a new thread, and in a thread that creates a thread or process, libc blocks all signals
  /// for a moment; in its own helper threads, libc blocks them permanently.
  package static func blocked(_ threads: [ThreadSignals]) -> [HandlerStatus.Finding] {
    threads.compactMap { thread in
      let blocked = thread.blocked.intersection(.faults)
      guard !blocked.isEmpty, !thread.blocked.contains(librarysOwn) else { return nil }
      return HandlerStatus.Finding(
        .blocked, threadID: thread.threadID,
        "thread \(thread.threadID) ('\(thread.name)') blocks \(blocked.names): "
          + "such a fault there kills the process without a dump")
    }
  }

  /// Finds the threads that block SIGABRT, if libc's `abort` does not unblock it; nil if there are none.
  ///
  /// - Parameter keepsOpen: true if this package's `abort` unblocks SIGABRT, so that only libc's own calls of its `abort`
  ///   lead to no dump.
  fileprivate static func abortBlocked(
    _ threads: [ThreadSignals], keepsOpen: Bool
  ) -> HandlerStatus.Finding? {
    let blocking = threads.filter {
      $0.blocked.contains(SIGABRT) && !$0.blocked.contains(librarysOwn)
    }
    guard let first = blocking.first else { return nil }
    let others = blocking.count > 1 ? " and \(blocking.count - 1) others block" : " blocks"
    return HandlerStatus.Finding(
      .blocked, signal: SIGABRT, threadID: blocking.count == 1 ? first.threadID : nil,
      "thread \(first.threadID) ('\(first.name)')\(others) SIGABRT: "
        + (keepsOpen
          ? "if libc itself aborts there, as after heap damage, " : "if abort is called there, ")
        + "the process ends without a dump")
  }

  /// The signal with which libc cancels threads.
  ///
  /// Source: glibc sysdeps/unix/sysv/linux/internal-signals.h, SIGCANCEL.
  private static let librarysOwn: Int32 = 32

  /// Finds each signal handler of the program that blocks signals of faults while it runs.
  ///
  /// Signals 32 and 33 are left out, because their handlers belong to libc.
  fileprivate static func blockedInHandlers(otherThan ours: UInt64) -> [HandlerStatus.Finding] {
    (Int32(1)...64).compactMap { signal in
      guard signal != 32, signal != 33, let action = SignalAction.current(signal),
        action.handler > 1, action.handler != ours
      else { return nil }
      // A handler's own signal is always blocked while it runs, unless SA_NODEFER is set, so that signal is not
      // reported.
      let blocked = SignalSet(mask: action.mask & ~SignalMask.bit(signal)).intersection(.faults)
      guard !blocked.isEmpty else { return nil }
      return HandlerStatus.Finding(
        .blockedInHandler, signal: signal,
        "the handler of \(SignalNames.text(signal)) blocks \(blocked.names) while it runs: "
          + "such a fault in it kills the process without a dump")
    }
  }
}

/// Returns the handler of a signal; nil if it is the expected handler, or if the action cannot be read.
private func otherHandler(of signal: Int32, than expected: UInt64) -> UInt64? {
  guard let action = SignalAction.current(signal), action.handler != expected else { return nil }
  return action.handler
}

/// Describes a handler, where 0 stands for the default action and 1 for an ignored signal.
///
/// Any other value is the address of a function; the description names the function's module.
private func described(_ handler: UInt64) -> String {
  switch handler {
  case 0: return "it has the default action"
  case 1: return "it is ignored"
  default:
    let module = unsafe pm_module_of(handler).map { unsafe String(cString: $0) }
    return "it has a handler in \(module ?? "memory outside all modules")"
  }
}
