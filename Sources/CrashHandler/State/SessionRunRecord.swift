/// What the handler keeps about this process's run record: the open file, its mapping, whether the process notes its
/// end there, and the signal that asked it to end.
///
/// RUNS-DURING-CRASH.
struct SessionRunRecord {
  /// True if the process notes in the run record how it ends, so that a report can be created about that end.
  ///
  /// The value is false after a crash that the process may survive, because that crash has its own report.
  var isFollowed = false
  /// The signal that asked the process to end, if one was noted; otherwise 0.
  var termination: Int32 = 0
  /// The run record, open for writing.
  var file = HeldFile()
  /// The mapped page of the record, which shows other processes that this process is alive.
  var mapping = RecordMapping()

  @_noLocks
  init() {}
}
