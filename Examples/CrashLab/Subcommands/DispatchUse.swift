internal import CCrashLab
internal import Dispatch
internal import Glibc
internal import Synchronization

/// Scenes of `UseScene` with Dispatch and Swift concurrency, whose worker threads block most signals.
enum DispatchUse: String, CaseIterable {
  case sourceOfAbort = "dispatch-source-abort"
  case sourceOfAbortBefore = "dispatch-source-abort-before"
  case sourceOfTermination = "dispatch-source-term"
  case sourceWithBlockedMain = "dispatch-source-blocked"
  case waitAmongWorkers = "dispatch-wait"
  case raiseOnWorker = "dispatch-raise"
  case openOnWorker = "dispatch-open"
  case abortOnWorker = "dispatch-abort"
  case abortInTask = "dispatch-abort-task"
  case ownHandler = "dispatch-own-handler"
  case heapOnWorker = "dispatch-heap"
  case heapInTask = "dispatch-heap-task"
  case heapAfterSent = "dispatch-heap-after-sent"
  case noMainThread = "dispatch-main"
  case timers = "dispatch-timers"
  case programs = "dispatch-programs"
  case masks = "dispatch-masks"

  /// Runs before the handler starts.
  func prepare() {
    if case .sourceOfAbortBefore = self {
      Self.startWorkers()
      Self.holdSource(of: SIGABRT)
    }
  }

  func run() {
    switch self {
    case .sourceOfAbort:
      Self.startWorkers()
      Self.holdSource(of: SIGABRT)
      Self.receive(SIGABRT)
    case .sourceOfAbortBefore: Self.receive(SIGABRT)
    case .sourceOfTermination:
      Self.startWorkers()
      Self.holdSource(of: SIGTERM)
      Self.receive(SIGTERM)
    case .sourceWithBlockedMain:
      crashlab_block(SIGABRT)
      Self.startWorkers()
      Self.holdSource(of: SIGABRT)
      Self.receive(SIGABRT)
    case .waitAmongWorkers:
      crashlab_block(SIGABRT)
      for _ in 0..<3 {
        Self.startWorkers()
        crashlab_send(SIGABRT)
        // A worker of libdispatch that took the signal first queues it again.
        while !crashlab_is_pending(SIGABRT) {}
        unsafe crashlab_tell("sent")
        say("took \(crashlab_wait_for(SIGABRT))")
      }
    case .raiseOnWorker:
      Self.onWorker {
        raise(SIGABRT)
        pthread_kill(pthread_self(), SIGABRT)
        say("raised, and took \(crashlab_wait_for(SIGABRT))")
      }
    case .openOnWorker:
      Self.onWorker {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGABRT)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        say("raises")
        raise(SIGABRT)
        say("came back")
      }
    case .abortOnWorker: Self.onWorker { abort() }
    case .abortInTask: Self.inTask { abort() }
    case .ownHandler:
      Self.startWorkers()
      signal(SIGABRT) { _ in Self.handled.add(1, ordering: .relaxed) }
      crashlab_block(SIGABRT)
      crashlab_send(SIGABRT)
      // A worker may run the handler, which it would not without this package.
      while !crashlab_is_pending(SIGABRT), Self.handled.load(ordering: .relaxed) == 0 {}
      say("lives")
    case .heapOnWorker: Self.onWorker { crash_double_free() }
    case .heapInTask: Self.inTask { crash_double_free() }
    case .heapAfterSent:
      crashlab_block(SIGABRT)
      Self.startWorkers()
      crashlab_send(SIGABRT)
      say("took \(crashlab_wait_for(SIGABRT))")
      Self.onWorker { crash_double_free() }
    case .noMainThread:
      Self.startWorkers()
      DispatchQueue.global().async {
        crashlab_send(SIGABRT)
        while true { pause() }
      }
      dispatchMain()
    case .timers: Self.countTicks()
    case .programs: Self.onWorker { Self.runPrograms() }
    case .masks: Self.onWorker { Self.changeMasks() }
    }
  }

  // MARK: - Helpers

  private nonisolated(unsafe) static var source: (any DispatchSourceSignal)?
  private static let handled = Atomic(0)
  private static let received = DispatchSemaphore(value: 0)

  private static func holdSource(of signal: Int32) {
    let source = DispatchSource.makeSignalSource(signal: signal, queue: .global())
    let isThere = DispatchSemaphore(value: 0)
    source.setRegistrationHandler { isThere.signal() }
    source.setEventHandler { received.signal() }
    source.resume()
    isThere.wait()
    unsafe Self.source = source
  }

  private static func receive(_ signal: Int32) {
    for round in 0..<3 {
      crashlab_send(signal)
      received.wait()
      say("received \(round)")
    }
  }

  /// Makes several workers run at the same time.
  private static func startWorkers() {
    let (isThere, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    for _ in 0..<2 {
      DispatchQueue.global().async {
        isThere.signal()
        isOver.wait()
      }
    }
    for _ in 0..<2 { isThere.wait() }
    for _ in 0..<2 { isOver.signal() }
  }

  private static func onWorker(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      body()
      done.signal()
    }
    done.wait()
  }

  private static func inTask(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    Task.detached {
      await Task.yield()
      body()
      done.signal()
    }
    done.wait()
  }

  private static func countTicks() {
    let done = DispatchSemaphore(value: 0)
    let count = Atomic(0)
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now(), repeating: .milliseconds(2))
    timer.setEventHandler { if count.add(1, ordering: .relaxed).newValue == 5 { done.signal() } }
    timer.resume()
    done.wait()
    timer.cancel()
    DispatchQueue.concurrentPerform(iterations: 100) { _ in count.add(1, ordering: .relaxed) }
    say("ticks: \(count.load(ordering: .relaxed) >= 105)")
  }

  private static func runPrograms() {
    var child = pid_t()
    var status: Int32 = 0
    let words = ["crash-lab", "use", "shown", "--no-handler"]
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    let result = unsafe posix_spawn(&child, "/proc/self/exe", nil, nil, &arguments, environ)
    unsafe waitpid(child, &status, 0)
    say("spawned: \(result), \(status)")
    child = crashlab_fork()
    if child == 0 {
      unsafe crashlab_tell("child")
      _exit(5)
    }
    unsafe waitpid(child, &status, 0)
    say("forked: \(status)")
  }

  private static func changeMasks() {
    var (set, before) = (sigset_t(), sigset_t())
    unsafe sigfillset(&set)
    unsafe pthread_sigmask(SIG_SETMASK, &set, &before)
    unsafe crashlab_tell("all")
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    unsafe crashlab_tell("as before")
    unsafe sigemptyset(&set)
    unsafe pthread_sigmask(SIG_SETMASK, &set, &before)
    unsafe crashlab_tell("none")
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    unsafe crashlab_tell("as before")
  }
}
