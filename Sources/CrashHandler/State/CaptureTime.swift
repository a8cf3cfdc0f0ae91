/// The division of the time: three quarters for the sections, the rest for the end.
///
/// RUNS-DURING-CRASH.
struct CaptureTime {
  /// The time of the sections in milliseconds.
  let sections: Int
  let finish: Int

  @_noLocks
  init(limit: Int) {
    finish = limit >= 4 ? limit / 4 : 1
    sections = limit &- finish > 0 ? limit &- finish : 1
  }
}
