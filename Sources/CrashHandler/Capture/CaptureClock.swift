/// The time that a dump has.
///
/// RUNS-DURING-CRASH.
struct CaptureClock {
  /// How far it has gone.
  enum Phase {
    /// Sections are written.
    case sections
    /// Their time is over: those that have not begun are left out.
    case cut
    /// The last part is written, which has a time of its own.
    case finish
    /// That is over too.
    case over
  }

  var phase = Phase.sections
  var division = CaptureTime(limit: 0)
  /// What is left of the time, and whether the timer runs.
  var left = WatchdogTime()
  var isTicking = false
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

/// How the time is divided: three quarters for the sections, the rest for the end.
///
/// RUNS-DURING-CRASH.
struct CaptureTime {
  /// In milliseconds.
  let sections: Int
  let finish: Int

  @_noLocks
  init(limit: Int) {
    finish = limit >= 4 ? limit / 4 : 1
    sections = limit &- finish > 0 ? limit &- finish : 1
  }
}
