/// The run record of the locked file's owner.
///
/// RUNS-DURING-CRASH.
struct SessionRunRecord {
  /// True while the end of the run is noted in the run record, from which the next start makes a report.
  ///
  /// False after a crash that the process may survive, which has its own report.
  var isFollowed = false
  /// The signal that asks the process to end, once it was noted; 0 before.
  var termination: Int32 = 0
  /// Open for writing.
  var file = HeldFile()
  /// The mapped page of the record, which shows other processes that this one is alive.
  var mapping = RecordMapping()

  @_noLocks
  init() {}
}
