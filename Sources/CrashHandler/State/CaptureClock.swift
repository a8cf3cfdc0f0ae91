/// The time limit of a dump, and how much of it is left.
///
/// RUNS-DURING-CRASH.
struct CaptureClock {
  /// The phases of a dump's time.
  enum Phase {
    /// Sections are written.
    case sections
    /// The time of the sections is over: sections that have not begun are left out.
    case cut
    /// The last part of the dump is written, which has its own time limit.
    case finish
    /// The time of the last part is over too.
    case over
  }

  var phase = Phase.sections
  var division = CaptureTime(limit: 0)
  /// The remaining time, and whether the timer runs.
  var left = WatchdogTime()
  var isTicking = false
  /// True while the signal is blocked because another process sent it: until the next section.
  var isMuted = false
  /// The timer that sends the watchdog's signal; -1 if there is none.
  var timer: Int32 = -1

  @_noLocks
  init() {}

  var isCut: Bool {
    @_noLocks get {
      if case .cut = phase { true } else { false }
    }
  }

  var isOver: Bool {
    @_noLocks get {
      if case .over = phase { true } else { false }
    }
  }
}
