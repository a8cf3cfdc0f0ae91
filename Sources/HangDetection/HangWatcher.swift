internal import CSignalSafe
internal import CrashHandler
internal import Glibc
internal import IntermediateDump
internal import Synchronization

/// The thread that checks the watches of all monitors.
final class HangWatcher: Sendable {
  static let shared = HangWatcher()

  private struct State {
    var watches: [Watch] = []
    var hasThread = false
  }

  private static let shortestTurn: UInt64 = 20_000_000
  private static let longestTurn: UInt64 = 500_000_000
  private static let heartbeatInterval: UInt64 = 2_000_000_000
  private let state = Mutex(State())

  /// Adds a watch, and asks its part for the first answer; creates the monitors' thread if it is not running.
  func add(_ watch: Watch) throws(CrashHandlerError) {
    try state.withLock { state throws(CrashHandlerError) in
      if !state.hasThread {
        unsafe try HelperThread.start { _ in
          HelperThread.prepare("hang-monitor", startsWorkers: true)
          HangWatcher.shared.run()
          return nil
        }
      }
      state.hasThread = true
      state.watches.append(watch)
    }
    // Asked at the thread's next turn, a main queue that hangs until then would never be watched.
    watch.look(after: 0, others: [])
  }

  /// Stops a watch, and removes it once no hang of it is in progress; the thread ends after the last watch is removed.
  func remove(_ watch: Watch) {
    watch.stop()
    state.withLock { $0.watches.removeAll { $0.isOver } }
  }

  /// Checks all watches repeatedly until none is left.
  private func run() {
    var clock = HangClock(now: pm_boot_clock())
    var lastHeartbeat: UInt64 = 0
    var lastHang: ReportID?
    while true {
      let turn: UInt64? = state.withLock { state in
        state.watches.removeAll { $0.isOver }
        guard let shortest = state.watches.map(\.threshold).min() else {
          state.hasThread = false
          return nil
        }
        // Watches are checked eight times within the shortest threshold, but never more often than every 20 ms or
        // less often than every 500 ms.
        return min(max(shortest / 8, Self.shortestTurn), Self.longestTurn)
      }
      guard let turn else { return }
      var time = timespec(tv_sec: 0, tv_nsec: Int(turn))
      unsafe clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nil)
      let counted = clock.advance(to: pm_boot_clock(), after: turn)
      let watches = state.withLock { $0.watches }
      for watch in watches {
        watch.look(
          after: counted, others: watches.compactMap { $0 === watch ? nil : $0.lastingDump })
      }
      let hang = watches.lazy.compactMap(\.dump).first?.reportID
      let now = pm_boot_clock()
      if hang != lastHang || now >= lastHeartbeat + Self.heartbeatInterval {
        writeHeartbeat(hangReport: hang)
        (lastHeartbeat, lastHang) = (now, hang)
      }
    }
  }
}

/// Counts time, but only as long as the watching thread itself runs on time.
///
/// While a process is stopped, is in a paused container or is on a suspended machine, its watched parts cannot answer.
/// So an interval that took more than twice the intended time is not counted. As a side effect, a real hang is detected
/// later if the watching thread itself runs late.
struct HangClock {
  private var last: UInt64

  /// Starts counting.
  ///
  /// - Parameter now: the time from CLOCK_BOOTTIME, in nanoseconds; this clock continues while the machine is
  ///   suspended.
  init(now: UInt64) { last = now }

  /// Ends an interval, and returns how much of its time counts: nothing if the interval took more than twice the
  /// intended time, otherwise all of it.
  ///
  /// - Parameters:
  ///   - now: the time from CLOCK_BOOTTIME, in nanoseconds.
  ///   - turn: the intended duration of the interval in nanoseconds.
  /// - Returns: the number of nanoseconds since the last call; 0 if this is more than twice `turn`, and so does not
  ///   count.
  mutating func advance(to now: UInt64, after turn: UInt64) -> UInt64 {
    let elapsed = now >= last ? now - last : 0
    last = now
    return elapsed <= 2 * turn ? elapsed : 0
  }
}
