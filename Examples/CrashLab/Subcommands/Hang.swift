internal import Dispatch
internal import Glibc
internal import Postmortem
internal import Synchronization

/// A hang that a hang monitor detects.
struct Hang: Subcommand {
  private enum Target: String, CaseIterable {
    case main, queue, actor, heartbeat
    /// Two loops, each with a monitor: the second hangs first, and its monitor waits longer.
    case two
  }

  private enum Manner: String, CaseIterable {
    /// Hangs asleep, or in a busy loop.
    case idle, busy
    /// Does not hang.
    case never
  }

  private enum Outcome: String, CaseIterable {
    /// Hangs until it is killed.
    case killed
    /// Crashes once the monitor has dumped the hang.
    case crashes
    /// Recovers once the hang is dumped, and exits once `pending-serialized-dumps` contains no `.hang` dump.
    case recovers
    /// The same, but the monitor keeps the dump of a hang that recovers.
    case kept
    /// The first of two loops answers again once both count as hung; then the second has a dump of its own.
    case firstRecovers = "first-recovers"
    /// The monitor of the first of two loops is stopped once both count as hung; then the second has a dump of its own.
    case firstStops = "first-stops"
    /// Stops the monitor once the hang is dumped, and hangs until it is killed.
    case stopped
    /// Stops the monitor once the hang is dumped, then ends by exit or _exit, or recovers.
    case stoppedExits = "stopped-exits"
    case stoppedQuits = "stopped-quits"
    case stoppedRecovers = "stopped-recovers"
    /// Exits after a line of input; the monitor would keep the dump of a recovered hang.
    case watched
  }

  private let target: Target
  private let manner: Manner
  private let outcome: Outcome
  private let database: String

  init(_ arguments: Arguments) throws(UsageError) {
    let words = try arguments.words("TARGET", "MANNER", "OUTCOME")
    target = try Arguments.choice(words[0])
    manner = try Arguments.choice(words[1])
    outcome = try Arguments.choice(words[2])
    database = try arguments.database
  }

  func run() throws {
    CrashLab.start(database)
    // With `watched`, a false alarm of the monitor thus leaves a report.
    let options = HangMonitor.Options(
      threshold: .milliseconds(400), keepsRecovered: [.watched, .kept].contains(outcome))
    let hang: @Sendable () -> Void = self.hang
    var stop: @Sendable () -> Void = {}
    switch target {
    case .main:
      let monitor = try HangMonitor.mainThread(options: options)
      stop = { monitor.stop() }
      DispatchQueue.main.async { hang() }
      startEnd(stop)
      dispatchMain()
    case .queue:
      let queue = DispatchQueue(label: "crash-lab.watched")
      try HangMonitor.queue(queue, options: options)
      queue.asyncAfter(deadline: .now() + .milliseconds(300)) { hang() }
    case .actor:
      let actor = Worker()
      try HangMonitor.actor(actor, name: "worker", options: options)
      Task {
        try await Task.sleep(for: .milliseconds(300))
        await actor.run(hang)
      }
    case .heartbeat:
      let monitor = try HangMonitor.heartbeat(name: "loop", options: options)
      stop = { monitor.stop() }
      startLoop(monitor)
    case .two:
      let second = try HangMonitor.heartbeat(
        name: "second", options: HangMonitor.Options(threshold: .seconds(2)))
      second.heartbeat()
      let first = try HangMonitor.heartbeat(name: "first", options: options)
      stop = { first.stop() }
      startLoop(first)
    }
    startEnd(stop)
    waitForEver()
  }

  /// Starts a loop that hangs.
  private func startLoop(_ monitor: HangMonitor) {
    Thread.start {
      for _ in 0..<10 {
        monitor.heartbeat()
        usleep(20_000)
      }
      hang()
      while true {
        monitor.heartbeat()
        usleep(20_000)
      }
    }
  }

  private func hang() {
    guard manner != .never else { return }
    say("hanging")
    if manner == .busy { hangBusily() } else { hangIdly() }
    say("recovered")
  }

  private var lasts: Bool {
    ![.recovers, .kept, .stoppedRecovers, .firstRecovers].contains(outcome)
  }

  @inline(never)
  private func hangBusily() {
    // Read once, so that the thread hangs in this function.
    let lasts = lasts
    var value: UInt64 = 1
    while lasts || !isSeen.load(ordering: .relaxed) {
      value = value &* 6_364_136_223_846_793_005 &+ 1
    }
    say(value)
  }

  @inline(never)
  private func hangIdly() {
    if lasts {
      while true { sleep(600) }
    }
    while !isSeen.load(ordering: .acquiring) { usleep(20_000) }
    while outcome == .stoppedRecovers, !isStopped.load(ordering: .acquiring) { usleep(20_000) }
    say("dump is there")
  }

  /// Ends the process as the outcome requires, from another thread.
  private func startEnd(_ stop: @escaping @Sendable () -> Void) {
    Thread.start {
      switch outcome {
      case .killed: break
      case .crashes:
        // No pause: the crash must happen while the monitor is still finishing its work.
        while !hasDump {}
        unsafe UnsafeMutablePointer<Int>(bitPattern: 0x10)?.pointee = 1
      case .recovers, .kept:
        awaitDump()
        while hasDump { usleep(20_000) }
        say("dump is gone")
        exit(0)
      case .firstRecovers, .firstStops:
        while !hasDump { usleep(5_000) }
        let first = dumps
        sleep(3)
        if outcome == .firstStops { stop() } else { isSeen.store(true, ordering: .releasing) }
        while dumps.subtracting(first).isEmpty { usleep(20_000) }
        while outcome == .firstRecovers, !dumps.isDisjoint(with: first) { usleep(20_000) }
        say("another dump is there")
      case .stopped, .stoppedExits, .stoppedQuits, .stoppedRecovers:
        awaitDump()
        stop()
        isStopped.store(true, ordering: .releasing)
        say("stopped")
        if outcome == .stoppedExits { exit(0) }
        if outcome == .stoppedQuits { _exit(0) }
        while outcome == .stoppedRecovers, hasDump { usleep(20_000) }
        if outcome == .stoppedRecovers { exit(hasDump ? EX_SOFTWARE : 0) }
      case .watched:
        say("watching \(target)")
        // The test sends a line after it has stopped and continued this process.
        _ = readLine()
        usleep(1_500_000)
        exit(0)
      }
    }
  }

  /// Waits until the dump exists, and lets the hang end: a test must not depend on the speed of this machine.
  private func awaitDump() {
    while !hasDump { usleep(5_000) }
    isSeen.store(true, ordering: .releasing)
  }

  private var hasDump: Bool { !dumps.isEmpty }

  /// The names of the dumps of hangs.
  private var dumps: Set<String> {
    guard let directory = unsafe opendir(database + "/pending-serialized-dumps") else {
      return []
    }
    var found: Set<String> = []
    defer { unsafe closedir(directory) }
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasSuffix(".hang") { found.insert(name) }
    }
    return found
  }
}

private let isStopped = Atomic(false)
/// True once the dump of the hang has been seen.
private let isSeen = Atomic(false)

private actor Worker {
  func run(_ body: @Sendable () -> Void) { body() }
}
