internal import CSignalSafe
internal import CrashHandler
internal import IntermediateDump
internal import Synchronization

/// What one monitor knows of what it watches.
final class Watch: Sendable {
  /// The numbers are those of the dump's `hangTarget`.
  enum Target: UInt8 {
    case mainThread = 1
    case queue = 2
    case executor = 3
    case heartbeat = 4
  }

  /// Called by what is watched.
  struct Answer: Sendable {
    let watch: Watch

    func callAsFunction() { callAsFunction(pm_gettid()) }
    /// With the thread that answers; nil where that says nothing.
    func callAsFunction(_ threadID: Int32?) { watch.answer(threadID) }
  }

  /// Asks for an answer, soon and on the right thread.
  typealias Probe = @Sendable (Answer) -> Void

  private struct State {
    /// Answers or beats seen at the last look, and whether one is awaited.
    var seen: UInt32 = 0
    var isAwaited = false
    /// Nanoseconds that it has been awaited for, as far as they count.
    var age: UInt64 = 0
    /// CPU time of the thread when it began.
    var activity: ThreadActivity?
    var dump: HangDump?
    /// True once a dump of this hang was taken, or could not be.
    var isReported = false
    var isStopped = false
    /// Reports of hangs that ended.
    var kept = 0
  }

  private static let maximumKept = 16
  private static let minimumThreshold: UInt64 = 100_000_000

  let name: String
  let target: Target
  /// Nanoseconds.
  let threshold: UInt64
  private let keepsRecovered: Bool
  private let probe: Probe?
  private let answers = Atomic<UInt32>(0)
  private let lastThread = Atomic<Int32>(0)
  private let isPaused = Atomic<Bool>(false)
  private let state = Mutex(State())

  init(name: String, target: Target, options: HangMonitor.Options, probe: Probe?) {
    self.name = name
    self.target = target
    threshold = max(options.threshold.nanosecondsClamped, Self.minimumThreshold)
    keepsRecovered = options.keepsRecovered
    self.probe = probe
  }

  // MARK: - From what is watched

  private func answer(_ threadID: Int32?) {
    lastThread.store(threadID ?? 0, ordering: .relaxed)
    answers.add(1, ordering: .releasing)
  }

  func beat() {
    guard target == .heartbeat else { return }
    isPaused.store(false, ordering: .relaxed)
    answer(pm_gettid())
  }

  func pause() { isPaused.store(true, ordering: .relaxed) }

  // MARK: - From the watching thread

  /// The dump of the hang that lasts.
  var hangReport: ReportID? { state.withLock { $0.dump?.reportID } }

  /// Looks once.
  ///
  /// - Parameter time: nanoseconds since the last look that count.
  func look(after time: UInt64) {
    let asks = state.withLock { state in
      // A hang that lasted when the watch was stopped is followed to its end.
      guard !state.isStopped || state.dump != nil else { return false }
      let answers = answers.load(ordering: .acquiring)
      if answers != state.seen || isPaused.load(ordering: .relaxed) {
        state.seen = answers
        recover(&state)
        state.isAwaited = target == .heartbeat
        state.age = 0
        state.activity = nil
      } else if state.isAwaited && !(answers == 0 && beginsWithAnswer) {
        state.age += time
        lookAtHang(&state)
      }
      guard probe != nil, !state.isAwaited, !state.isStopped else { return false }
      state.isAwaited = true
      return true
    }
    // Not under the lock: what is watched may answer at once, on this thread.
    if asks { probe?(Answer(watch: self)) }
  }

  /// Ends the watch, but for a hang that lasts: should the process be killed now, its dump is what
  /// there is to say of that.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.dump?.expectExit()
    }
  }

  /// True once there is nothing left to be looked at.
  var isOver: Bool { state.withLock { $0.isStopped && $0.dump == nil } }

  /// A program that never serves its main queue does not hang, nor does one that never beats.
  private var beginsWithAnswer: Bool { target == .mainThread || target == .heartbeat }

  private func lookAtHang(_ state: inout State) {
    let thread = lastThread.load(ordering: .relaxed)
    let activity = thread == 0 ? nil : ThreadActivity(of: thread)
    // Stopped by itself, by a debugger: it will go on.
    if activity?.isStopped == true {
      state.age = 0
      state.activity = nil
    }
    if state.activity == nil { state.activity = activity }
    var processorTime: UInt64?
    if let now = activity, let start = state.activity, now.processorTime >= start.processorTime {
      processorTime = now.processorTime - start.processorTime
    }
    if let dump = state.dump {
      dump.update(time: state.age, processorTime: processorTime)
    } else if state.age >= threshold, !state.isReported {
      state.isReported = true
      let evidence = evidence(of: thread, isThere: activity != nil)
      // A dump that cannot be taken is one report less; the program must not feel it.
      state.dump = try? HangDump(
        taking: HangDump.Description(
          name: name, target: target.rawValue, threadEvidence: evidence,
          threadID: activity == nil ? nil : thread, threshold: threshold, time: state.age,
          processorTime: processorTime))
    }
  }

  /// As the dump's `hangThreadEvidence` numbers it.
  private func evidence(of thread: Int32, isThere: Bool) -> UInt8 {
    guard isThere else { return 3 }
    switch target {
    case .heartbeat: return 1
    // Nobody else serves the main queue, unless the main thread gave that up.
    case .mainThread where thread == pm_getpid(): return 1
    default: return 2
    }
  }

  private func recover(_ state: inout State) {
    state.isReported = false
    guard let dump = state.dump else { return }
    if keepsRecovered, state.kept < Self.maximumKept {
      state.kept += 1
      dump.keep()
    } else {
      dump.drop()
    }
    state.dump = nil
  }
}

extension Duration {
  /// 0 for a negative one, the largest number for one that is too long.
  fileprivate var nanosecondsClamped: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    guard seconds < 1 << 32 else { return .max }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }
}
