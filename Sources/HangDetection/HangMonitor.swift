public import CrashHandler
public import Dispatch
internal import Glibc
internal import IntermediateDump

/// Watches whether a part of the program still answers, and takes a dump when it does not.
///
/// If the process ends before the watched part answers again, the next `processIntermediateDumps`
/// makes a report: the time of the hang, whether its thread waited or was busy, and that thread
/// first. If it answers, or a crash is captured, the dump is removed.
///
/// All monitors share one thread, which checks a few times a second. Time in which the whole process was stopped
/// (SIGSTOP, a paused container, a suspended machine) does not count. A monitor watches until `stop()`, even after
/// its last reference is released. A forked child has none.
public final class HangMonitor: Sendable {
  let watch: Watch

  private init(
    _ name: String, _ target: HangTarget, _ options: Options, _ probe: Watch.Probe?
  ) throws(CrashHandlerError) {
    guard Handler.current != nil else { throw CrashHandlerError.handlerNotStarted }
    watch = Watch(name: name, target: target, options: options, probe: probe)
    try HangWatcher.shared.add(watch)
  }

  /// Watches the main queue, which `RunLoop.main`, `dispatchMain()` and an asynchronous `main` serve.
  ///
  /// The watch begins with the first answer. In a program that never serves the queue, use a `heartbeat`.
  ///
  /// - Throws: `CrashHandlerError` if the handler was not started, or no thread can be created.
  @discardableResult
  public static func mainThread(
    options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor("main", .mainThread, options) { answer in DispatchQueue.main.async { answer() }
    }
  }

  /// Watches a serial Dispatch queue; a suspended queue counts as hung too.
  ///
  /// - Parameters:
  ///   - queue: runs blocks that are submitted to it.
  ///   - name: the name in the report; by default the queue's label.
  ///   - options: the threshold, and whether to report hangs that ended.
  @discardableResult
  public static func queue(
    _ queue: DispatchQueue, name: String? = nil, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor(name ?? queue.label, .queue, options) { answer in queue.async { answer() } }
  }

  /// Watches an actor by calls to it.
  ///
  /// An actor without its own executor runs on the global one; if that is blocked, the actor counts as hung too.
  @discardableResult
  public static func actor(
    _ actor: any Actor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    let guest = unsafe ExecutorGuest(of: { unsafe actor.unownedExecutor })
    return try HangMonitor(name, .executor, options) { answer in guest.ask { answer() } }
  }

  /// Watches a serial executor, such as an event loop's, by jobs that are put on it directly.
  @discardableResult
  public static func executor(
    _ executor: any SerialExecutor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    let guest = unsafe ExecutorGuest(of: { unsafe executor.asUnownedSerialExecutor() })
    return try HangMonitor(name, .executor, options) { answer in guest.ask { answer() } }
  }

  /// Watches whether a closure returns, which runs on the global executor; if that is blocked, it counts
  /// as hung too.
  ///
  /// - Parameters:
  ///   - name: the name in the report.
  ///   - options: the threshold, and whether to report hangs that ended.
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

  /// Watches a loop of the program, which calls `heartbeat()` in every iteration.
  ///
  /// The watch begins with the first call.
  public static func heartbeat(
    name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor(name, .heartbeat, options, nil)
  }

  /// Reports that the calling thread is alive, in about 100 nanoseconds; only for a `heartbeat`.
  public func heartbeat() { watch.heartbeat() }

  /// Suspends the watch until the next heartbeat, for a loop that waits for work without a limit.
  public func pause() { watch.pause() }

  /// Ends the watch.
  ///
  /// Keeps the dump of a lasting hang until the watched part answers or `exit` or `_exit` is called, because the
  /// process may be killed for the hang. A program need not stop its monitors before it ends, so that they also
  /// detect a hang in its shutdown.
  public func stop() { HangWatcher.shared.remove(watch) }
}
