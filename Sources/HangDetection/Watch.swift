internal import CSignalSafe
internal import CrashHandler
internal import Glibc
internal import IntermediateDump
internal import PendingDumps
internal import Synchronization

/// The part of the program that one monitor watches, and the state of the watch.
final class Watch: Sendable {
  /// A function that the watched part calls to answer.
  struct Answer: Sendable {
    let watch: Watch

    /// Records an answer from a thread, by default the calling thread.
    ///
    /// Pass nil if the answering thread need not be the thread that hangs; the monitor then knows no thread, and a dump
    /// of a hang names none.
    func callAsFunction(_ threadID: Int32? = pm_gettid()) { watch.answer(threadID) }
  }

  /// Requests an answer: makes the watched part call the `Answer`.
  typealias Probe = @Sendable (Answer) -> Void

  private struct State {
    /// The number of answers or heartbeats at the last check.
    var seen: UInt32 = 0
    /// True while an answer is awaited.
    var isAwaited = false
    /// How long the monitor has waited for an answer, in nanoseconds, without the time that does not count (see
    /// `HangClock`).
    var age: UInt64 = 0
    /// The state and the CPU time of the thread that answered last, read at the first check without an answer.
    var activity: ThreadActivity?
    var dump: HangDump?
    /// True once the watch has tried to take a dump of this hang.
    var isReported = false
    var isStopped = false
    /// The number of hangs that have ended, but whose dumps were kept for a report; at most `maximumKept`.
    var kept = 0
    /// When the line about a hang was last written, by CLOCK_BOOTTIME in nanoseconds; nil if none was written.
    var lineTime: UInt64?
    /// True while the line about the end of this hang is still to be written.
    var owesLine = false
  }

  private static let maximumKept = 16
  private static let minimumThreshold: UInt64 = 100_000_000
  /// The minimum time in nanoseconds between the lines about two hangs.
  private static let lineInterval: UInt64 = 300_000_000_000

  let name: String
  let target: HangTarget
  /// The time in nanoseconds without an answer after which the watched part counts as hung.
  let threshold: UInt64
  private let keepsRecovered: Bool
  private let writesLines: Bool
  private let probe: Probe?
  private let answers = Atomic<UInt32>(0)
  private let lastThread = Atomic<Int32>(0)
  private let isPaused = Atomic<Bool>(false)
  private let state = Mutex(State())

  init(name: String, target: HangTarget, options: HangMonitor.Options, probe: Probe?) {
    self.name = name
    self.target = target
    threshold = max(
      UInt64(max(0, options.threshold.wholeNanoseconds)), Self.minimumThreshold)
    keepsRecovered = options.keepsRecovered
    writesLines = options.writesSummary
    self.probe = probe
  }

  // MARK: - Calls by the watched part

  private func answer(_ threadID: Int32?) {
    lastThread.store(threadID ?? 0, ordering: .relaxed)
    answers.add(1, ordering: .releasing)
  }

  func heartbeat() {
    guard target == .heartbeat else { return }
    isPaused.store(false, ordering: .relaxed)
    answer(pm_gettid())
  }

  func pause() { isPaused.store(true, ordering: .relaxed) }

  // MARK: - Calls by the watching thread

  /// The dump of the hang in progress; nil if there is none.
  var dump: HangDump? { state.withLock { $0.dump } }

  /// The same, but nil once the watch was stopped, because `exit` then removes the dump.
  var lastingDump: HangDump? { state.withLock { $0.isStopped ? nil : $0.dump } }

  /// Checks once whether the watched part has answered, and then asks it again.
  ///
  /// - Parameters:
  ///   - time: the time since the last check, in nanoseconds, without the time that does not count (see `HangClock`).
  ///   - others: the dumps of other parts that hang now and are still watched.
  func look(after time: UInt64, others: [HangDump]) {
    let asks = state.withLock { state in
      // A hang in progress is watched to its end even after the watch was stopped.
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
        lookAtHang(&state, others)
      }
      guard probe != nil, !state.isAwaited, !state.isStopped else { return false }
      state.isAwaited = true
      return true
    }
    // The lock is not held here: the probe may run code of a custom executor on this thread, and that code may call
    // `stop()`, which takes the lock.
    if asks { probe?(Answer(watch: self)) }
  }

  /// Ends the watch, but keeps the dump of a hang in progress, because that hang may still lead to the process being
  /// killed.
  func stop() {
    state.withLock { state in
      state.isStopped = true
      state.dump?.expectExit()
    }
  }

  /// True once the watch was stopped and there is nothing left to check.
  var isOver: Bool { state.withLock { $0.isStopped && $0.dump == nil } }

  /// True if the watch begins only with the first answer, because the program may never serve its main queue, or may
  /// not have started its loop yet.
  private var beginsWithAnswer: Bool { target == .mainThread || target == .heartbeat }

  private func lookAtHang(_ state: inout State, _ others: [HangDump]) {
    let thread = lastThread.load(ordering: .relaxed)
    let activity = thread == 0 ? nil : ThreadActivity(of: thread)
    // If a signal or a debugger has stopped the thread, the duration of the hang is counted from zero again.
    if activity?.isStopped == true {
      state.age = 0
      state.activity = nil
    }
    if state.activity == nil { state.activity = activity }
    var cpuTime: UInt64?
    if let now = activity, let start = state.activity, now.cpuTime >= start.cpuTime {
      cpuTime = now.cpuTime - start.cpuTime
    }
    if let dump = state.dump {
      dump.update(time: state.age, processorTime: cpuTime)
    } else if state.age >= threshold, !state.isReported {
      // The dump of another part that was taken while this part did not answer shows this hang too.
      let start = pm_boot_clock() &- state.age
      if let other = others.first(where: { $0.time >= start }) {
        if !state.owesLine { writeLine(&state, other) }
        return
      }
      state.isReported = true
      let evidence = evidence(of: thread, isThere: activity != nil)
      // If the dump cannot be taken, there is no report, and the program continues.
      state.dump = try? HangDump(
        taking: HangDump.Description(
          name: name, target: target, threadEvidence: evidence,
          threadID: activity == nil ? nil : thread, threshold: threshold, time: state.age,
          processorTime: cpuTime))
      writeLine(&state, state.dump)
    }
  }

  /// The watched part in a sentence, such as `the queue "work"`.
  private var subject: String { "the \(target.noun) \"\(name)\"" }

  private func writeLine(_ state: inout State, _ dump: HangDump?) {
    let now = pm_boot_clock()
    guard writesLines, state.lineTime.map({ now >= $0 + Self.lineInterval }) ?? true else { return }
    let time = Self.seconds(state.age)
    state.owesLine = HangLine.write(
      "hang: \(subject) has not answered for \(time)", report: dump?.reportID)
    if state.owesLine { state.lineTime = now }
  }

  /// A duration in seconds, with one decimal.
  private static func seconds(_ nanoseconds: UInt64) -> String {
    let tenths = nanoseconds / 100_000_000
    return "\(tenths / 10).\(tenths % 10) s"
  }

  private func evidence(of thread: Int32, isThere: Bool) -> HangThreadEvidence {
    guard isThere else { return .none }
    switch target {
    case .heartbeat: return .known
    // Only the main thread serves the main queue, unless it has called dispatchMain().
    case .mainThread where thread == pm_getpid(): return .known
    default: return .lastSeen
    }
  }

  private func recover(_ state: inout State) {
    state.isReported = false
    if state.owesLine {
      state.owesLine = false
      _ = HangLine.write("hang ended: \(subject) answers again, after \(Self.seconds(state.age))")
    }
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

/// The state of a thread in this process, and the CPU time that the thread has used.
///
/// Source: proc_pid_stat(5), fields 3, 14 and 15.
struct ThreadActivity {
  /// The thread's state letter, as in proc(5).
  let state: UInt8
  /// The CPU time in nanoseconds, with the resolution of a clock tick, usually a hundredth of a second.
  let cpuTime: UInt64

  /// Reads `/proc/self/task/TID/stat`; nil if the file cannot be read, for example because the thread has ended.
  init?(of threadID: Int32) {
    guard let text = SystemFile.bytes("/proc/self/task/\(threadID)/stat", isOneRecord: true) else {
      return nil
    }
    self.init(statText: text[...], ticksPerSecond: UInt64(max(sysconf(Int32(_SC_CLK_TCK)), 1)))
  }

  /// Parses the text of a thread's `stat` file in `/proc`; nil if the text does not have that file's format.
  init?(statText text: ArraySlice<UInt8>, ticksPerSecond: UInt64) {
    // Field 2, the name, may contain blanks and parentheses; no later field does.
    guard let end = text.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[(end + 1)...].split(separator: UInt8(ascii: " "))
    guard fields.count > 12, let letter = fields[0].first,
      let user = UInt64(digits: String(decoding: fields[11], as: UTF8.self)[...]),
      let system = UInt64(digits: String(decoding: fields[12], as: UTF8.self)[...])
    else { return nil }
    state = letter
    let (sum, overflow) = user.addingReportingOverflow(system)
    guard !overflow, sum < 1 << 40, ticksPerSecond > 0 else { return nil }
    cpuTime = sum * 1_000_000 / ticksPerSecond * 1000
  }

  /// True for a thread that a signal (T) or a tracer (t) has stopped.
  var isStopped: Bool { state == UInt8(ascii: "T") || state == UInt8(ascii: "t") }
}
