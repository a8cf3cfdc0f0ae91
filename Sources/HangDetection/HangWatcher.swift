internal import CSignalSafe
internal import CrashHandler
internal import Glibc
internal import IntermediateDump
internal import Synchronization

/// The one thread that looks at everything that is watched.
final class HangWatcher: Sendable {
  static let shared = HangWatcher()

  private struct State {
    var watches: [Watch] = []
    var hasThread = false
  }

  private static let shortestTurn: UInt64 = 20_000_000
  private static let longestTurn: UInt64 = 500_000_000
  private static let beatInterval: UInt64 = 1_000_000_000
  private let state = Mutex(State())

  /// Adds a watch, and makes the thread if it is the first.
  func add(_ watch: Watch) throws(CrashHandlerError) {
    try state.withLock { state throws(CrashHandlerError) in
      if !state.hasThread { try Self.makeThread() }
      state.hasThread = true
      state.watches.append(watch)
    }
  }

  /// Takes a watch out, at once or when its hang is over; the thread ends with the last one.
  func remove(_ watch: Watch) {
    watch.stop()
    state.withLock { $0.watches.removeAll { $0.isOver } }
  }

  /// Turns until nothing is watched any more.
  private func run() {
    var clock = HangClock(now: pm_boot_clock())
    var lastBeat: UInt64 = 0
    var lastHang: ReportID?
    while true {
      let turn: UInt64? = state.withLock { state in
        state.watches.removeAll { $0.isOver }
        guard let shortest = state.watches.map(\.threshold).min() else {
          state.hasThread = false
          return nil
        }
        // Eight looks in the time of the shortest threshold.
        return min(max(shortest / 8, Self.shortestTurn), Self.longestTurn)
      }
      guard let turn else { return }
      var time = timespec(tv_sec: 0, tv_nsec: Int(turn))
      unsafe clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nil)
      let counted = clock.advance(to: pm_boot_clock(), after: turn)
      let watches = state.withLock { $0.watches }
      for watch in watches { watch.look(after: counted) }
      let hang = watches.lazy.compactMap(\.hangReport).first
      let now = pm_boot_clock()
      if hang != lastHang || now >= lastBeat + Self.beatInterval {
        writeBeat(hangReport: hang)
        (lastBeat, lastHang) = (now, hang)
      }
    }
  }

  private static func makeThread() throws(CrashHandlerError) {
    let failure = unsafe withUnsafeTemporaryAllocation(of: pthread_attr_t.self, capacity: 1) {
      buffer -> Int32 in
      guard let attributes = buffer.baseAddress else { return ENOMEM }
      unsafe pthread_attr_init(attributes)
      defer { unsafe pthread_attr_destroy(attributes) }
      unsafe pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
      unsafe pthread_attr_setstacksize(attributes, 256 << 10)
      var thread = pthread_t()
      return unsafe pthread_create(
        &thread, attributes,
        { _ in
          blockProgramSignals()
          HangWatcher.nameThread()
          HangWatcher.shared.run()
          return nil
        }, nil)
    }
    guard failure == 0 else { throw CrashHandlerError.noThread(errorNumber: failure) }
  }

  /// For debuggers and reports; prctl(2) cannot be called from Swift.
  private static func nameThread() {
    let descriptor = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let name: StaticString = "hang-monitor"
    _ = unsafe write(descriptor, name.utf8Start, name.utf8CodeUnitCount)
  }
}
