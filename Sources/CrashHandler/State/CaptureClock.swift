/// The time limit of a dump, and the time that remains.
///
/// RUNS-DURING-CRASH.
struct CaptureClock {
  /// Which part of its time limit a dump is using.
  enum Phase {
    /// The sections are being written.
    case sections
    /// The time for the sections is over, so sections that have not begun are left out.
    case cut
    /// The last part of the dump is being written: the section `capture` and the end mark, which have a separate time
    /// limit.
    case finish
    /// The time for the last part is over too, so the dump is broken off.
    case over
  }

  var phase = Phase.sections
  var division = CaptureTime(limit: 0)
  /// The time that remains until the timer's limit; `isTicking` is true while the timer sends ticks.
  var remaining = WatchdogTime()
  var isTicking = false
  /// True while the watchdog's signal is blocked because a sender other than the timer sent it; the next section
  /// unblocks it.
  var isMuted = false
  /// The timer that sends the watchdog's signal; -1 if there is none.
  var timer: Int32 = -1

  @_noLocks
  init() {}

  var isCut: Bool { @_noLocks get { if case .cut = phase { true } else { false } } }
  var isOver: Bool { @_noLocks get { if case .over = phase { true } else { false } } }
}

/// How a dump's time limit is divided: three quarters for the sections, and one quarter for the end of the dump.
///
/// RUNS-DURING-CRASH.
struct CaptureTime {
  /// The time for writing all sections of the dump, such as the threads and the modules, in milliseconds.
  let sections: Int
  let finish: Int

  @_noLocks
  init(limit: Int) {
    finish = limit >= 4 ? limit / 4 : 1
    sections = limit &- finish > 0 ? limit &- finish : 1
  }
}
