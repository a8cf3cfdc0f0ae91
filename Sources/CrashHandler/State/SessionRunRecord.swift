/// The run record beside the locked file.
///
/// RUNS-DURING-CRASH.
struct SessionRunRecord {
  /// True in a process whose end is to be told by the next start; no longer after a crash that may
  /// be survived, whose report is told already.
  var isFollowed = false
  /// The signal that asks the process to end, once it was noted; 0 before.
  var termination: Int32 = 0
  /// Open for writing.
  var file = HeldFile()
  /// The page of it that shows others that this process lives.
  var mapping = RecordMapping()

  @_noLocks
  init() {}
}
