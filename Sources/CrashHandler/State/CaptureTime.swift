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
