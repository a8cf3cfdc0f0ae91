public import CrashHandler
public import Dispatch
internal import Glibc
internal import IntermediateDump

/// Watches whether a part of the program still answers, and takes a dump if it does not.
///
/// If the process ends before the watched part answers again, the next call of `processIntermediateDumps` makes a
/// report. The report shows how long the part hung, and whether the hung thread waited or was busy. The first thread
/// in the report is the hung thread, or the thread that blocks it. If neither is known, the thread that answered last
/// comes first or, if there is no such thread, the monitors' own thread. If the watched part answers, the dump is
/// removed, unless `keepsRecovered` is set. The dump is also removed once the dump of a crash is complete.
///
/// All monitors share one thread, which checks every half second or more often. Time during which the whole process was
/// stopped (SIGSTOP, a paused container, a suspended machine) does not count as part of a hang. A monitor watches until
/// `stop()` is called, even after its last reference is released. No monitor runs in a forked child.
public final class HangMonitor: Sendable {
  let watch: Watch

  private init(
    _ name: String, _ target: HangTarget, _ options: Options, _ probe: Watch.Probe?
  ) throws(CrashHandlerError) {
    guard Handler.current != nil else { throw CrashHandlerError.handlerNotStarted }
    watch = Watch(name: name, target: target, options: options, probe: probe)
    try HangWatcher.shared.add(watch)
  }

  /// Watches the main queue, which `RunLoop.main`, `dispatchMain()` or an `async` `main` serves.
  ///
  /// The watch begins with the queue's first answer. In a program that never serves the main queue, use a `heartbeat`
  /// monitor.
  ///
  /// - Throws: `CrashHandlerError` if the handler was not started, or no thread can be created.
  @discardableResult
  public static func mainThread(
    options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor("main", .mainThread, options) { answer in DispatchQueue.main.async { answer() }
    }
  }

  /// Watches a serial Dispatch queue; a suspended queue also counts as hung.
  ///
  /// - Parameters:
  ///   - queue: the queue; the monitor submits blocks to it.
  ///   - name: the name that the report shows; by default the queue's label.
  ///   - options: the threshold, and whether hangs that have ended are reported.
  @discardableResult
  public static func queue(
    _ queue: DispatchQueue, name: String? = nil, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor(name ?? queue.label, .queue, options) { answer in queue.async { answer() } }
  }

  /// Watches an actor by repeatedly running a closure on it.
  ///
  /// If the actor has no custom executor, the closure runs on the global executor. If the global executor is blocked,
  /// such an actor also counts as hung.
  @discardableResult
  public static func actor(
    _ actor: any Actor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    let guest = unsafe ExecutorGuest(of: { unsafe actor.unownedExecutor })
    return try HangMonitor(name, .executor, options) { answer in guest.ask { answer() } }
  }

  /// Watches a serial executor, such as an event loop's executor, by enqueueing jobs directly on it.
  @discardableResult
  public static func executor(
    _ executor: any SerialExecutor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    let guest = unsafe ExecutorGuest(of: { unsafe executor.asUnownedSerialExecutor() })
    return try HangMonitor(name, .executor, options) { answer in guest.ask { answer() } }
  }

  /// Watches whether a closure returns.
  ///
  /// A closure that is not isolated to an actor runs on the global executor. If the global executor is blocked, such a
  /// closure also counts as hung.
  ///
  /// - Parameters:
  ///   - name: the monitor's name, which the report of a hang shows.
  ///   - options: the threshold, and whether hangs that have ended are reported.
  ///   - probe: the closure; it is called again only after it has returned.
  @discardableResult
  public static func probe(
    name: String, options: Options = Options(), _ probe: @escaping @Sendable () async -> Void
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor(name, .executor, options) { answer in
      Task {
        await probe()
        answer(nil)
      }
    }
  }

  /// Watches a loop of the program; the loop must call `heartbeat()` in every iteration.
  ///
  /// The watch begins with the first call of `heartbeat()`.
  public static func heartbeat(
    name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor(name, .heartbeat, options, nil)
  }

  /// Tells the monitor that the calling thread is alive; has an effect only on a monitor that
  /// `heartbeat(name:options:)` created.
  ///
  /// A call takes about 100 nanoseconds.
  public func heartbeat() { watch.heartbeat() }

  /// Suspends the watch until the next heartbeat; call this function before the loop waits for work without a time
  /// limit.
  public func pause() { watch.pause() }

  /// Ends the watch.
  ///
  /// The dump of a hang in progress is kept until the watched part answers, or until `exit` or `_exit` is called. If
  /// the process is killed before that, for example by a supervisor, the dump becomes a report. A program need not stop
  /// its monitors before it ends. If they keep running, they also detect a hang of the shutdown itself.
  public func stop() { HangWatcher.shared.remove(watch) }
}
