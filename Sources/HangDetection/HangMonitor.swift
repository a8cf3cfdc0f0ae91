public import CrashHandler
public import Dispatch
internal import Glibc

/// Watches whether a part of the program still answers, and keeps a dump of what it did not.
///
/// Past the threshold a dump is taken into the pending folder, where no converter touches it as
/// long as the process lives. If the process ends before the watched part answers again, the next
/// `processIntermediateDumps` makes a report of it: how long it hung, whether its thread waited or
/// was busy, and that thread first. If it answers, or if a crash is captured, the dump is removed.
///
/// All monitors share one thread, which sleeps but for a few looks a second; it is made with the
/// first of them. Time in which the whole process stood still (SIGSTOP, a paused container, a
/// frozen or suspended machine) is not counted: only time in which that thread itself ran when it
/// should have. A monitor watches until `stop()`, whether it is kept or not. A forked child
/// has none.
public final class HangMonitor: Sendable {
  /// When something hangs, and what becomes of its dump.
  public struct Options: Sendable, Equatable {
    /// How long no answer is a hang; 100 milliseconds at least.
    public var threshold = Duration.seconds(5)
    /// Whether a hang that ended leaves a report too; of at most 16 in the process's life.
    public var keepsRecovered = false

    /// The defaults: 5 seconds, and no report of a hang that ended.
    public init(threshold: Duration = .seconds(5), keepsRecovered: Bool = false) {
      self.threshold = threshold
      self.keepsRecovered = keepsRecovered
    }
  }

  let watch: Watch

  private init(
    _ name: String, _ target: Watch.Target, _ options: Options, _ probe: Watch.Probe?
  ) throws(CrashHandlerError) {
    guard startedHandler() != nil else { throw CrashHandlerError.handlerNotStarted }
    watch = Watch(name: name, target: target, options: options, probe: probe)
    try HangWatcher.shared.add(watch)
  }

  /// Watches the main queue, which the main thread serves in `RunLoop.main`, in `dispatchMain()`
  /// and in programs whose `main` is asynchronous.
  ///
  /// Begins with the first answer, so that a program without any of these is not taken for hung;
  /// such a one calls `beat()` of a `heartbeat`.
  ///
  /// - Throws: `CrashHandlerError` if the handler was not started, or no thread can be made.
  @discardableResult
  public static func mainThread(
    options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor("main", .mainThread, options) { answer in DispatchQueue.main.async { answer() }
    }
  }

  /// Watches a serial Dispatch queue: whether what is submitted to it is run.
  ///
  /// A queue that is suspended for longer than the threshold counts as hung.
  ///
  /// - Parameter name: what the report calls it; the queue's label by default.
  @discardableResult
  public static func queue(
    _ queue: DispatchQueue, name: String? = nil, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor(name ?? queue.label, .queue, options) { answer in queue.async { answer() } }
  }

  /// Watches an actor: whether a call to it is run.
  ///
  /// The call starts on the global executor; where that is blocked, the actor counts as hung too.
  @discardableResult
  public static func actor(
    _ actor: any Actor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    let guest = unsafe Guest(of: { unsafe actor.unownedExecutor })
    return try HangMonitor(name, .executor, options) { answer in
      Task { await guest.run(answer) }
    }
  }

  /// Watches a serial executor: whether a job that is enqueued is run.
  @discardableResult
  public static func executor(
    _ executor: some SerialExecutor, name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    let guest = unsafe Guest(of: { unsafe executor.asUnownedSerialExecutor() })
    return try HangMonitor(name, .executor, options) { answer in
      Task { await guest.run(answer) }
    }
  }

  /// Watches whatever a closure asks: whether it returns.
  ///
  /// - Parameter probe: called again only once it has returned.
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

  /// Watches a loop of the program's own, which calls `beat()` at every turn.
  ///
  /// Begins with the first beat.
  public static func heartbeat(
    name: String, options: Options = Options()
  ) throws(CrashHandlerError) -> HangMonitor {
    try HangMonitor(name, .heartbeat, options, nil)
  }

  /// Says that the calling thread is alive; some 100 nanoseconds.
  ///
  /// Nothing with a monitor that asks by itself.
  public func beat() { watch.beat() }

  /// Says that no beat will come for now: the loop waits for work without a limit.
  ///
  /// The next beat ends it.
  public func pause() { watch.pause() }

  /// Ends the watch.
  ///
  /// The dump of a hang that lasts is kept for as long as it lasts, because the process may be killed
  /// for it; it is removed when what hung answers, or by `exit` and `_exit`. A program that is about
  /// to end need not stop its monitors: without that, what hangs in its shutdown is seen too.
  public func stop() { HangWatcher.shared.remove(watch) }
}

/// Runs on the executor that is watched, which its closure keeps alive.
@safe
private actor Guest {
  private nonisolated let executor: @Sendable () -> UnownedSerialExecutor

  init(of executor: @escaping @Sendable () -> UnownedSerialExecutor) {
    unsafe self.executor = executor
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor() }

  func run(_ answer: Watch.Answer) { answer() }
}
